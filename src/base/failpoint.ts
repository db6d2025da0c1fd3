/**
 * A place where a test makes the whole process die as by kill -9, or loop until it is killed. Armed only by settings that production leaves
 * off. `spec` is `name`, `name:n` (the nth time that the place is reached), or `name:n:loop`.
 */
export type Failpoint = (name: string) => void;

export function createFailpoint(spec: string, allowed: boolean, kill: () => void = killSelf): Failpoint {
  if (!allowed || spec === '') return () => {};
  const [armed, count = '1', what] = spec.split(':');
  let left = Number(count);
  return (name) => {
    if (name !== armed) return;
    left -= 1;
    if (left === 0) (what === 'loop' ? loop : kill)();
  };
}

function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Nothing but a kill ends it, as nothing else ends work that never gives way. */
function loop(): never {
  for (;;);
}
