/**
 * Built-ins that this side relies on, captured before the plugin's code could replace them. A plugin that changes built-ins
 * harms only itself.
 */
export const { parse, stringify } = JSON;
export const { isArray } = Array;
export const { now } = Date;
export const { ownKeys } = Reflect;
export const { isNaN: isNotANumber } = Number;
export const parseTime = Date.parse;

const { bind, call } = Function.prototype;
const uncurry = bind.bind(call) as <This, Args extends readonly unknown[], Result>(
  method: (this: This, ...args: Args) => Result,
) => (self: This, ...args: Args) => Result;

export const sliceText: (text: string, from: number, to?: number) => string = uncurry(String.prototype.slice);
export const indexOfText: (text: string, part: string, from?: number) => number = uncurry(String.prototype.indexOf);
export const lowerCase: (text: string) => string = uncurry(String.prototype.toLowerCase);
export const matches: (pattern: RegExp, text: string) => boolean = uncurry(RegExp.prototype.test);
export const toIso: (date: Date) => string = uncurry(Date.prototype.toISOString);
export const thenOf: (
  promise: Promise<unknown>,
  onValue: (value: unknown) => void,
  onError: (error: unknown) => void,
) => Promise<void> = uncurry(Promise.prototype.then<void, void>);

const { resolve } = Promise;
const NativePromise = Promise;
export function promiseOf(value: unknown): Promise<unknown> {
  return resolve.call(NativePromise, value) as Promise<unknown>;
}

export const DateType = Date;
