import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IsolatedSandbox } from './create-sandbox.ts';
import { hopsMax, hopsProperty, type SandboxInstance } from './sandbox.ts';
import { errorOf, eventOf, openTestSandbox, propertiesOf, specOf } from '../../../test/support/sandbox.ts';

/**
 * Each known escape from a sandbox: it fails, the service is unaffected, and another config continues right after. The result is
 * what the code saw of its surroundings.
 */
let sandbox: IsolatedSandbox;
let neighbour: SandboxInstance;
beforeAll(async () => {
  sandbox = openTestSandbox();
  neighbour = await sandbox.open(
    specOf('exports.processEvent = (event) => { event.properties.ok = ({}).polluted ?? "clean"; return event }'),
  );
});
afterAll(() => sandbox.close());

/** What can be reached through a global object: none of it may be there. */
const look = `const look = (world) => {
  if (world === undefined || world === null) return 'nothing'
  const found = ['process', 'require', 'module', 'setTimeout', 'WebAssembly', 'SharedArrayBuffer', 'Bun', 'Deno']
    .filter((name) => { try { return typeof world[name] !== 'undefined' && !(world === globalThis && (name === 'require' || name === 'module')) } catch { return false } })
  return found.length > 0 ? found.join(' ') : world === globalThis ? 'own world' : 'another world' };`;

/** Runs code that returns (a promise of) what it reached, then lets the neighbour work. */
async function reach(body: string): Promise<unknown> {
  const spec = specOf(
    `${look} exports.processEvent = async (event, meta) => { event.properties.reached = await (async () => { ${body} })(); return event }`,
  );
  spec.services.kept.set('here', { deep: { x: 1 } });
  const instance = await sandbox.open(spec);
  const [outcome] = await instance.processEvents([eventOf('a', { text: 'b' })]);
  await instance.close();
  await expectUnharmed();
  return propertiesOf(outcome)['reached'];
}

async function expectUnharmed(): Promise<void> {
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  const [outcome] = await neighbour.processEvents([eventOf('a')]);
  expect(propertiesOf(outcome)).toEqual({ ok: 'clean' });
}

describe('escapes through constructors', () => {
  const world = `.constructor.constructor('return this')()`;
  const ways: readonly (readonly [name: string, body: string])[] = [
    ['this', `return look((function () { return this })()${world})`],
    ['the event', `return look(event${world})`],
    ['properties of the event', `return look(event.properties${world})`],
    ['a text of the event', `return look(event.properties.text${world})`],
    ['meta', `return look(meta${world})`],
    ['the config', `return look(meta.config${world})`],
    ['a function of meta', `return look(meta.storage.get${world})`],
    ['an error of the program', `try { null.x } catch (error) { return look(error${world}) }`],
    ['an error of a call', `try { new URL('::') } catch (error) { return look(error${world}) }`],
    ['an error of an import', `try { require('fs') } catch (error) { return look(error${world}) }`],
    ['a rejection of a call', `try { await fetch('http://127.0.0.1/') } catch (error) { return look(error${world}) }`],
    ['stack overflow', `const down = () => down(); try { down() } catch (error) { return look(error${world}) }`],
    [
      'a callback',
      `return await new Promise((resolve) => [1].forEach(function () { resolve(look(this === undefined ? (0, eval)('this') : this${world})) }))`,
    ],
    ['a promise of a call', `return look(meta.storage.get('here')${world})`],
    ['the result of a call', `return look((await meta.storage.get('here')).deep${world})`],
    ['an async function', `return look(await (async () => 1).constructor('return this')())`],
    ['a generator', `return look((function* () {}).constructor('yield this')().next().value)`],
    ['a Buffer', `return look(Buffer.from('a')${world})`],
    ['a URL', `return look(new URL('http://a.example/')${world})`],
    ['console', `return look(console.log${world})`],
    ['posthog', `return look(posthog.capture${world})`],
    ['require', `return look(require${world})`],
    ['a module', `return look(require('crypto').createHash${world})`],
    ['callers', `return look(await (function f() { return f.caller })()?.constructor('return this')())`],
    [
      'the stack of an error',
      `Error.prepareStackTrace = (_, frames) => frames; const frames = new Error().stack; const found = frames.map((frame) => frame.getThis?.()).filter((each) => each !== undefined && each !== globalThis && each !== event && each !== meta); delete Error.prepareStackTrace; return found.length === 0 ? 'nothing' : found.map(look).join()`,
    ],
    ['an iterator', `return look([][Symbol.iterator]()${world})`],
    ['Reflect', `return look(Reflect.construct(Function, ['return this'])())`],
  ];
  it.each(ways)('%s', async (_name, body) => {
    expect(await reach(body)).toMatch(/^(own world|nothing)$/);
  });

  it('no global of the host is available', async () => {
    const names = [
      'process',
      'setTimeout',
      'setInterval',
      'setImmediate',
      'WebAssembly',
      'SharedArrayBuffer',
      'Atomics',
    ];
    expect(
      await reach(`return ${JSON.stringify(names)}.filter((name) => typeof globalThis[name] !== 'undefined')`),
    ).toEqual([]);
  });

  it('import() is refused', async () => {
    expect(await reach(`try { return typeof (await import('node:fs')) } catch (error) { return 'refused' }`)).toBe(
      'refused',
    );
  });
});

describe('pollution of prototypes', () => {
  const ways: readonly (readonly [name: string, body: string])[] = [
    ['directly', `Object.prototype.polluted = 'yes'; return 1`],
    ['through an argument', `event.properties.__proto__.polluted = 'yes'; return 1`],
    ['through meta', `meta.__proto__.polluted = meta.config.__proto__.polluted = 'yes'; return 1`],
    ['through the result of a call', `(await meta.storage.get('here')).__proto__.polluted = 'yes'; return 1`],
    [
      'through what is stored',
      `await meta.storage.set('x', JSON.parse('{"__proto__": {"polluted": "yes"}}')); return 1`,
    ],
    [
      'through what is captured',
      `await posthog.capture('x', JSON.parse('{"__proto__": {"polluted": "yes"}}')); return 1`,
    ],
    ['through Function and Array', `Function.prototype.polluted = Array.prototype.polluted = 'yes'; return 1`],
  ];
  it.each(ways)('%s stays inside', async (_name, body) => {
    expect(await reach(body)).toBe(1);
  });

  it('through the returned event: it becomes a plain property', async () => {
    const instance = await sandbox.open(
      specOf(
        `exports.processEvent = (event) => ({ ...event, properties: JSON.parse('{"__proto__": {"polluted": "yes"}, "constructor": {"prototype": {"polluted": "yes"}}}') })`,
      ),
    );
    const [outcome] = await instance.processEvents([eventOf('a')]);
    expect(outcome).toMatchObject({
      kind: 'changed',
      propertiesText: expect.stringContaining('"__proto__":{"polluted":"yes"}'),
    });
    await expectUnharmed();
    await instance.close();
  });

  it('a plugin that breaks its own built-ins affects no other config, and cannot pose as another', async () => {
    const code = `exports.processEvent = (event) => {
      JSON.stringify = () => '[[0,2,1e9]]'; Array.prototype.push = Map.prototype.set = () => { throw new Error('broken') }
      Object.defineProperty(Array.prototype, 0, { set() { throw new Error('broken') }, configurable: true })
      String.prototype.slice = RegExp.prototype.test = Promise.prototype.then = () => { throw new Error('broken') }
      return event }`;
    const instance = await sandbox.open(specOf(code));
    const outcomes = await instance.processEvents([eventOf('a'), eventOf('b'), eventOf('c')]);
    expect(outcomes).toHaveLength(3);
    await expectUnharmed();
    await instance.close();
  });
});

describe('thrown values', () => {
  const ways: readonly (readonly [name: string, code: string])[] = [
    [
      'a proxy that throws',
      'throw new Proxy({}, { get() { throw new Error("inner") }, getPrototypeOf() { throw 1 } })',
    ],
    ['getters that throw', 'throw { get message() { throw 1 }, get name() { throw 2 }, get stack() { throw 3 } }'],
    ['a function', 'throw () => 1'],
    ['a symbol', 'throw Symbol("s")'],
    ['a toString that throws', 'throw { toString() { throw 1 }, toJSON() { throw 2 } }'],
    [
      'an error with a foreign kind',
      'throw Object.assign(new Error("no"), { kind: "crashed", method: "host", retry: 5 })',
    ],
    ['a rejected proxy', 'return Promise.reject(new Proxy(new Error("x"), { get() { throw 1 } }))'],
    ['a thenable that throws', 'return { get then() { throw new Error("then") } }'],
    ['a thenable that calls back twice', 'return { then(resolve, reject) { resolve(5); reject(new Error("x")) } }'],
  ];
  it.each(ways)('%s is a failure of that event', async (_name, code) => {
    const instance = await sandbox.open(
      specOf(
        `exports.processEvent = (event) => { if (event.event === 'bad') { ${code} } event.properties.a = 1; return event }`,
      ),
    );
    const [bad, good] = await instance.processEvents([eventOf('bad'), eventOf('good')]);
    const error = errorOf(bad);
    expect(['thrown', 'result']).toContain(error.kind);
    expect(error.method).toBe('processEvent');
    expect(error.message).not.toBe('');
    expect(propertiesOf(good)).toEqual({ a: 1 });
    await expectUnharmed();
    await instance.close();
  });
});

describe('endless capturing', () => {
  it('a chain of captured events is limited', async () => {
    const spec = specOf(`exports.processEvent = async (event) => { await posthog.capture('again'); return event }`);
    const instance = await sandbox.open(spec);
    for (let hops = 0; hops <= hopsMax; hops++) {
      const given = eventOf('again', hops === 0 ? {} : { [hopsProperty]: hops });
      const [outcome] = await instance.processEvents([given]);
      expect(outcome?.kind).toBe(hops < hopsMax ? 'unchanged' : 'failed');
    }
    expect(spec.services.captured.map((event) => event.hops)).toEqual(
      Array.from({ length: hopsMax }, (_, at) => at + 1),
    );
    await instance.close();
  });

  it('a capture names the event being processed, awaited or not', async () => {
    const code = `exports.processEvent = async (event, { storage }) => {
      posthog.capture('first'); await storage.get('x'); posthog.capture('second'); return event }`;
    const spec = specOf(code);
    const instance = await sandbox.open(spec);
    const uuids = Array.from({ length: 25 }, (_, at) => `01900000-0000-7000-8000-0000000000${at + 10}`);
    await instance.processEvents(uuids.map((uuid) => eventOf('a', {}, { uuid })));
    const causes = spec.services.captured.map(({ event, cause }) => `${cause?.uuid} ${cause?.index} ${event}`);
    expect(causes.sort()).toEqual(uuids.flatMap((uuid) => [`${uuid} 0 first`, `${uuid} 1 second`]));
    await instance.close();
  });
});
