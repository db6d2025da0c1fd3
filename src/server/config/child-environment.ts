/**
 * Returns the environment for a child process that receives its settings by message: everything but settings (machine
 * credentials, certificates), so that no secret can be read from its environment.
 */
export function environmentWithoutSettings(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(MILLRACE|OTEL)_/.test(name)));
}
