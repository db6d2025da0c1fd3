export type SyncOps = Readonly<Record<string, (args: readonly unknown[]) => unknown>>;
export type AsyncOps = Readonly<Record<string, (args: readonly unknown[]) => Promise<unknown>>>;
