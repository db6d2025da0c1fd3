/** Minutes east of Greenwich of `Z`, `UTC`, `+05:30`, `-0800` or `+02`; undefined when it is none of these. */
export function offsetMinutes(text: string): number | undefined {
  if (/^(z|utc)$/i.test(text)) return 0;
  const match = /^([+-])(\d\d)(?::?(\d\d))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, hours, minutes = '0'] = match;
  const total = Number(hours) * 60 + Number(minutes);
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return sign === '-' ? -total : total;
}
