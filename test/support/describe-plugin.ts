import { createContext, runInContext } from 'node:vm';
import { SandboxError, type Described, type Sandbox, type SandboxProgram } from '../../src/plugins/sandbox/sandbox.ts';

/** For tests: what a script leaves behind, looked up in the order of published plugins. */
export interface Loaded {
  /** Exports by name; the script's own functions where it exports nothing. */
  readonly exported: Readonly<Record<string, unknown>>;
  /** Packages that it required. */
  readonly required: readonly string[];
}

/** Runs a program as a script with `exports`, `module` and `require`, in sloppy mode. No isolation: for tests' own code. */
export function loadScript(code: string, provide: (name: string) => unknown = () => ({})): Loaded {
  const exported: Record<string, unknown> = {};
  const module: { exports: Record<string, unknown> } = { exports: {} };
  const required: string[] = [];
  const require = (name: string): unknown => {
    required.push(name);
    return provide(name);
  };
  const scope = createContext({ exports: exported, module, require });
  const before = new Set(Object.keys(scope));
  // As in a sandbox something stands before the script, so that its "use strict" says nothing.
  runInContext(`void 0;${code}`, scope);
  const places = [exported, exported['default'] as Record<string, unknown> | undefined, module.exports];
  const found = places.filter((place) => place !== undefined && Object.keys(place).length > 0);
  const own = Object.keys(scope).filter((name) => !before.has(name));
  const all = found.length > 0 ? found.toReversed() : [Object.fromEntries(own.map((name) => [name, scope[name]]))];
  return { exported: Object.assign({}, ...all), required };
}

const scheduled = /^runEvery(Minute|Hour|Day)$/;
const forbidden = new Set(['fs', 'child_process']);

/** In the sandbox's place: tells what a program exports, refuses what cannot be loaded. */
export const testSandbox: Pick<Sandbox, 'describe'> = {
  async describe({ code }: SandboxProgram): Promise<Described> {
    try {
      const { exported } = loadScript(code, (name) => {
        if (forbidden.has(name)) throw new Error(`Cannot import "${name}": a plugin has no such package`);
        return {};
      });
      const functions = Object.keys(exported).filter((name) => typeof exported[name] === 'function');
      return {
        methods: functions.filter((name) => !scheduled.test(name)),
        scheduledTasks: functions.filter((name) => scheduled.test(name)),
        jobs: Object.keys((exported['jobs'] as object | undefined) ?? {}),
        metrics: (exported['metrics'] as Described['metrics'] | undefined) ?? {},
      };
    } catch (error) {
      throw new SandboxError('load', (error as Error).message, { method: 'load' });
    }
  },
};
