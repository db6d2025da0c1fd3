/**
 * A place where a test kills the process as kill -9 would, or loops until it is killed. Only armed by settings that production
 * leaves off. `spec` is `name`, `name:n` (the nth time the place is reached) or `name:n:loop`.
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

/** Ends only with a kill, like other work that never yields. */
function loop(): never {
  for (;;);
}
