import { decodeBridge, encodeBridge } from '../wire/bridge-json.ts';
import { base64OfBytes, bytesOfBase64 } from './lib/base64.ts';
import { now, parse, sliceText } from './intrinsics.ts';
import { isAnsweredAtOnce } from '../wire/quick-ops.ts';
import type { Bridge } from './lib/index.ts';
import type { Outside, Turn, Turns } from './outside.ts';

interface OpenCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly turn: Turn;
  readonly isQuick: boolean;
}

export interface GuestBridge extends Bridge {
  /** Settles a call: its caller continues, on the caller's account. */
  settle(call: number, ok: boolean, text: string): void;
}

export function createBridge(
  outside: Outside,
  turns: Turns,
  facts: { readonly pluginName: string; readonly label: string },
): GuestBridge {
  const open = new Map<number, OpenCall>();
  let last = 0;
  return {
    pluginName: facts.pluginName,
    label: facts.label,
    now,
    callSync: (op, args) => {
      if (op === 'log') {
        outside('l', `${args[0]}`, `${args[1]}`, turns.current.id, turns.current.index);
        return undefined;
      }
      if (op === 'metric') {
        outside('m', `${args[0]}`, `${args[1]}`, typeof args[2] === 'number' ? args[2] : Number.NaN);
        return undefined;
      }
      const text = outside('s', op, encodeBridge(args, base64OfBytes)) ?? 'e{}';
      if (text[0] === 'e') throw errorOf(sliceText(text, 1));
      return decodeBridge(text, bytesOfBase64);
    },
    call: (op, args) =>
      new Promise((resolve, reject) => {
        const text = encodeBridge(args, base64OfBytes);
        const turn = turns.current;
        const call = ++last;
        const refusal = outside('c', call, op, text, turn.id, turn.index, op === 'capture' ? turn.captures++ : 0);
        if (refusal !== undefined) throw errorOf(sliceText(refusal, 1));
        const isQuick = isAnsweredAtOnce(op);
        if (isQuick) turn.quick++;
        else turn.slow++;
        open.set(call, { resolve, reject, turn, isQuick });
      }),
    settle: (call, ok, text) => {
      const waiting = open.get(call);
      if (!waiting) return;
      open.delete(call);
      const { turn } = waiting;
      if (waiting.isQuick) turn.quick--;
      else turn.slow--;
      turns.current = turn;
      if (ok) waiting.resolve(decodeBridge(text, bytesOfBase64));
      else waiting.reject(errorOf(text));
    },
  };
}

/** Converts an error of the other side. */
function errorOf(json: string): Error {
  const sent = parse(json) as { name?: unknown; message?: unknown; code?: unknown; retry?: unknown };
  const error = new Error(typeof sent.message === 'string' ? sent.message : 'the call failed');
  const define = (name: string, value: unknown): void => {
    Object.defineProperty(error, name, { value, configurable: true, writable: true, enumerable: false });
  };
  if (typeof sent.name === 'string') define('name', sent.name);
  if (typeof sent.code === 'string') define('code', sent.code);
  if (typeof sent.retry === 'boolean') define('retry', sent.retry);
  return error;
}
