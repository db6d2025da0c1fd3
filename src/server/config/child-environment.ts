/**
 * For a process of the service, which is given the settings by message: what is no setting (the credentials of the machine, certificates), so
 * that no secret of a setting can be read out of its environment.
 */
export function environmentWithoutSettings(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('MILLRACE_')));
}
