import type { Bridge } from './bridge.ts';
import { sendingWebhooks } from './compose-webhook.ts';
import { createDeps, defineGlobals, type GuestDeps } from './globals.ts';
import { createModules } from './modules.ts';

/**
 * What a plugin finds inside its isolate besides ECMAScript: globals, modules for `require`, and `meta`. This code runs in the
 * isolate, bundled (see ../main.ts); everything from outside passes through the bridge.
 */
export type { Bridge, GivenAttachment, GivenMeta, MetricKind } from './bridge.ts';
export { createMeta, type PluginMeta } from './meta.ts';

let deps: GuestDeps | undefined;
let modules: ((name: string) => unknown) | undefined;

/** Called once, before the plugin's code runs. */
export function installGlobals(target: typeof globalThis, bridge: Bridge): void {
  deps = createDeps(bridge);
  defineGlobals(target, deps);
  modules = createModules(deps);
}

/** Does the work deferred for lack of timers, if any. Rejects with the first error after trying all of it. */
export function doLeftOver(): Promise<void> | undefined {
  if (deps === undefined || deps.leftOver.size === 0) return undefined;
  return inTurn([...deps.leftOver]);
}

async function inTurn(todo: readonly (() => Promise<void>)[]): Promise<void> {
  const failed: unknown[] = [];
  for (const each of todo) {
    try {
      await each();
    } catch (error) {
      failed.push(error);
    }
  }
  if (failed.length > 0) throw failed[0];
}

/** Returns an onEvent that sends what `composeWebhook` of a plugin composes. */
export function onEventOf(composeWebhook: (...args: readonly unknown[]) => unknown): typeof composeWebhook {
  if (deps === undefined) throw new Error('expected the globals to be there before a plugin is read');
  return sendingWebhooks(composeWebhook, deps.fetch) as typeof composeWebhook;
}

/** `require` inside the isolate. Throws an Error that names a missing package. */
export function requireModule(name: string): unknown {
  if (modules === undefined) throw new Error(`expected the globals to be there before require("${name}")`);
  return modules(name);
}
