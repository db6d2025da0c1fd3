/** JSON texts with everything that is easily lost on the way: digits, signs, depth, characters of every plane. */

/** A stream of whole numbers below `limit`, the same for the same seed. */
export type Pick = (limit: number) => number;

export function createPick(seed: number): Pick {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** JSON text of one value, as sources write it: spaces, spellings and the order of members are not always the same. */
export function exactValue(pick: Pick, depth = 0): string {
  const kind = pick(depth > 30 ? 5 : 8);
  if (kind < 4) return number(pick);
  if (kind === 4) return text(pick);
  if (kind === 5) return ['true', 'false', 'null', '""', '[]', '{}'][pick(6)] ?? 'null';
  const values = Array.from({ length: 1 + pick(3) }, () => exactValue(pick, depth + 1));
  if (kind === 6) return `[${values.join(pick(2) === 0 ? ',' : ' , ')}]`;
  return `{${values.map((value, index) => `"${'zkey2'.charAt(pick(5))}${index}":${pick(2) === 0 ? '' : ' '}${value}`).join(',')}}`;
}

/** A value that lies so many levels deep. */
export function deepValue(levels: number, value: string): string {
  return `${'[{"a":'.repeat(levels / 2)}${value}${'}]'.repeat(levels / 2)}`;
}

function digits(pick: Pick, count: number): string {
  return Array.from({ length: count }, () => pick(10)).join('');
}

function number(pick: Pick): string {
  const sign = pick(3) === 0 ? '-' : '';
  const whole = `${1 + pick(9)}${digits(pick, pick(40))}`;
  switch (pick(6)) {
    case 0:
      return '-0';
    case 1:
      return `${sign}0.${digits(pick, 1 + pick(30))}`;
    case 2:
      return `${sign}${whole}.${digits(pick, 1 + pick(30))}`;
    case 3:
      return `${sign}${1 + pick(9)}.${digits(pick, 1 + pick(20))}${'eE'.charAt(pick(2))}${['', '+', '-'][pick(3)]}${pick(999)}`;
    default:
      return `${sign}${whole}`;
  }
}

function text(pick: Pick): string {
  const characters = Array.from({ length: pick(12) }, () => character(pick));
  return `"${characters.join('')}"`;
}

/** Of any of the 17 planes, as it is or escaped; now and then half of a pair. */
function character(pick: Pick): string {
  if (pick(8) === 0) return `\\ud${'89abcdef'.charAt(pick(8))}${pick(10)}${pick(10)}`;
  const code = pick(17) * 0x10000 + pick(0x10000);
  if (code >= 0xd800 && code < 0xe000) return '\\t';
  const plain = String.fromCodePoint(code);
  return code < 0x20 || plain === '"' || plain === '\\' ? `\\u${code.toString(16).padStart(4, '0')}` : plain;
}
