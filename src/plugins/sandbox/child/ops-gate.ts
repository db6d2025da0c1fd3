import { decodeNode, encodeNode, errorText } from '../wire/node-bridge.ts';
import type { Ops } from '../ops/index.ts';

/** The ops of one instance, behind the text that crosses the bridge. */

/** Never throws: errors come back as text too. */
export function callSyncOp(ops: Ops, op: unknown, text: unknown): string {
  try {
    const handler = typeof op === 'string' && Object.hasOwn(ops.sync, op) ? ops.sync[op] : undefined;
    if (!handler) throw new TypeError('expected a call that there is');
    return encodeNode(handler(readArguments(text)));
  } catch (error) {
    return `e${errorText(error)}`;
  }
}

export interface OpAnswer {
  readonly ok: boolean;
  /** bridge-json, or JSON of an error. */
  readonly text: string;
}

/** Never rejects. The handler is called before this returns. */
export async function callAsyncOp(ops: Ops, op: string, text: string): Promise<OpAnswer> {
  try {
    const handler = Object.hasOwn(ops.async, op) ? ops.async[op] : undefined;
    if (!handler) throw new TypeError('expected a call that there is');
    return { ok: true, text: encodeNode(await handler(readArguments(text))) };
  } catch (error) {
    return { ok: false, text: errorText(error) };
  }
}

function readArguments(text: unknown): readonly unknown[] {
  const args = typeof text === 'string' ? decodeNode(text) : undefined;
  if (!Array.isArray(args)) throw new TypeError('expected a list of arguments');
  return args as unknown[];
}
