/**
 * A place where a test makes the whole process die as by kill -9. Armed only by settings that production leaves off.
 * `spec` is `name` or `name:n` (the nth time that the place is reached).
 */
export type Failpoint = (name: string) => void;

export function createFailpoint(spec: string, allowed: boolean, kill: () => void = killSelf): Failpoint {
  if (!allowed || spec === '') return () => {};
  const [armed, count = '1'] = spec.split(':');
  let left = Number(count);
  return (name) => {
    if (name !== armed) return;
    left -= 1;
    if (left === 0) kill();
  };
}

function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}
