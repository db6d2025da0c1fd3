import ivm from 'isolated-vm';

export type Enter = (...command: readonly (string | number)[]) => unknown;
/** See Outside in ../guest/outside.ts. Nothing in what it gets can be relied upon. */
export type FromGuest = (kind: unknown, rest: readonly unknown[]) => string | undefined;

/** The entry did not come back in time and was cut off. `stalled`: the machine was busy elsewhere for most of it. */
export class CutOffError extends Error {
  readonly stalled: boolean;
  constructor(stalled: boolean) {
    super('cut off');
    this.stalled = stalled;
  }
}

/** The isolate took more memory than it may and is no more. */
export class DisposedError extends Error {}

export interface GuestIsolate {
  /** @throws CutOffError, DisposedError, or an Error of the guest's. */
  enter(timeoutMs: number, ...command: readonly (string | number)[]): unknown;
  readonly isDisposed: boolean;
  dispose(): void;
}

const startMs = 5000;

/** An isolate with the guest in it, ready for a plugin's code. */
export function createGuestIsolate(
  bundle: string,
  facts: { readonly pluginName: string; readonly label: string },
  memoryBytesMax: number,
  fromGuest: FromGuest,
): GuestIsolate {
  const isolate = new ivm.Isolate({ memoryLimit: Math.max(8, Math.round(memoryBytesMax / 1_048_576)) });
  const context = isolate.createContextSync();
  const script = isolate.compileScriptSync(bundle, { filename: 'guest' });
  const start = script.runSync(context, { timeout: startMs, reference: true });
  script.release();
  const outside = new ivm.Callback(
    (kind: unknown, ...rest: readonly unknown[]) => {
      try {
        return fromGuest(kind, rest);
      } catch {
        // Nothing of an error of this side may get in; what the guest asked was malformed.
        return 'e{"name":"TypeError","message":"the call was malformed"}';
      }
    },
    { sync: true },
  );
  const enter = start.applySync(undefined, [outside, JSON.stringify(facts)], {
    timeout: startMs,
    result: { reference: true },
  }) as ivm.Reference<Enter>;
  start.release();

  return {
    get isDisposed() {
      return isolate.isDisposed;
    },
    enter: (timeoutMs, ...command) => {
      const cpuBefore = isolate.cpuTime;
      try {
        return enter.applySync(undefined, [...command], { timeout: timeoutMs }) as unknown;
      } catch (error) {
        if (isolate.isDisposed) throw new DisposedError();
        if (error instanceof Error && error.message === 'Script execution timed out.') {
          throw new CutOffError(Number(isolate.cpuTime - cpuBefore) / 1e6 < timeoutMs / 2);
        }
        throw error;
      }
    },
    dispose: () => {
      if (!isolate.isDisposed) isolate.dispose();
    },
  };
}
