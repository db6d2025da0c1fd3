import ivm from 'isolated-vm';

export type Enter = (...command: readonly (string | number)[]) => unknown;
/** See Outside in ../guest/outside.ts. Its arguments are not trusted. */
type FromGuest = (kind: unknown, rest: readonly unknown[]) => string | undefined;

/** The entry exceeded its limit and was interrupted. `stalled`: the machine was busy for most of it. */
export class EntryTimeoutError extends Error {
  readonly stalled: boolean;
  constructor(stalled: boolean) {
    super('the entry took too long');
    this.stalled = stalled;
  }
}

/** The isolate exceeded its memory limit and no longer exists. */
export class DisposedError extends Error {}

export interface GuestIsolate {
  /** Returns the guest's result: see start in ../guest/main.ts. @throws EntryTimeoutError, DisposedError */
  enter(timeoutMs: number, ...command: readonly (string | number)[]): unknown;
  readonly isDisposed: boolean;
  /** Whether the guest was loaded from the code cache. */
  readonly isFromCache: boolean;
  dispose(): void;
}

export interface IsolateDeps {
  readonly facts: { readonly pluginName: string; readonly label: string };
  readonly memoryBytesMax: number;
  readonly fromGuest: FromGuest;
  /** Called with the reason of a promise that was rejected in an entry and not handled. */
  readonly onRejection: (reason: unknown) => void;
}

export type IsolateMaker = (deps: IsolateDeps) => GuestIsolate;

const startMs = 5000;
const lastMs = 1000;

/** Creates isolates with this guest, ready for a plugin's code. The compiled guest is cached for later isolates. */
export function createIsolateMaker(bundle: string): IsolateMaker {
  let compiled: ivm.ExternalCopy<ArrayBuffer> | undefined;
  return (deps) => {
    const isolate = new ivm.Isolate({ memoryLimit: Math.max(8, Math.round(deps.memoryBytesMax / 1_048_576)) });
    const context = isolate.createContextSync();
    const known = compiled;
    const script = isolate.compileScriptSync(bundle, {
      filename: 'guest',
      ...(known === undefined ? {} : { cachedData: known }),
    });
    const start = script.runSync(context, { timeout: startMs, reference: true }) as ivm.Reference<Start>;
    const { cachedDataRejected } = script as { readonly cachedDataRejected?: boolean };
    script.release();
    const outside = outsideOf(deps.fromGuest);
    const enter = start.applySync(undefined, [outside, JSON.stringify(deps.facts)], {
      timeout: startMs,
      result: { reference: true },
    }) as ivm.Reference<Enter>;
    start.release();
    const isFromCache = known !== undefined && cachedDataRejected !== true;
    // Only now, so that the cache contains the functions used by the start.
    if (!isFromCache) compiled = compiledCode(isolate, bundle);
    return guestIsolate(isolate, enter, isFromCache, deps.onRejection);
  };
}

type Start = (outside: unknown, facts: string) => Enter;

function compiledCode(isolate: ivm.Isolate, bundle: string): ivm.ExternalCopy<ArrayBuffer> | undefined {
  const script = isolate.compileScriptSync(bundle, { filename: 'guest', produceCachedData: true });
  const { cachedData } = script as { readonly cachedData?: ivm.ExternalCopy<ArrayBuffer> };
  script.release();
  return cachedData;
}

function outsideOf(fromGuest: FromGuest): ivm.Callback<(...args: unknown[]) => string | undefined> {
  return new ivm.Callback(
    (kind: unknown, ...rest: readonly unknown[]) => {
      try {
        return fromGuest(kind, rest);
      } catch {
        // No error of this side may enter the isolate; the guest's call was malformed.
        return 'e{"name":"TypeError","message":"the call was malformed"}';
      }
    },
    { sync: true },
  );
}

function guestIsolate(
  isolate: ivm.Isolate,
  enter: ivm.Reference<Enter>,
  isFromCache: boolean,
  onRejection: (reason: unknown) => void,
): GuestIsolate {
  const apply = (timeout: number, command: readonly (string | number)[]): unknown =>
    enter.applySync(undefined, [...command], { timeout });
  return {
    get isDisposed() {
      return isolate.isDisposed;
    },
    isFromCache,
    enter: (timeoutMs, ...command) => {
      const startedAt = performance.now();
      const cpuBefore = isolate.cpuTime;
      try {
        return apply(timeoutMs, command);
      } catch (error) {
        if (isolate.isDisposed) throw new DisposedError();
        // A plugin may reject with the same text, but not as late.
        if (isTimeout(error) && performance.now() - startedAt >= timeoutMs) {
          throw new EntryTimeoutError(Number(isolate.cpuTime - cpuBefore) / 1e6 < timeoutMs / 2);
        }
        // The guest never throws: the entry finished, but its result was replaced by this rejection.
        onRejection(error);
        return apply(lastMs, ['last']);
      }
    },
    dispose: () => {
      if (!isolate.isDisposed) isolate.dispose();
    },
  };
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Script execution timed out.';
}
