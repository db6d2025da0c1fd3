import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTestIsolate, type TestIsolate } from './isolate.fixture.ts';

let isolate: TestIsolate;

beforeEach(async () => {
  isolate = await openTestIsolate();
});

afterEach(() => isolate.close());

it.each([
  ['log', 'LOG'],
  ['info', 'INFO'],
  ['warn', 'WARN'],
  ['error', 'ERROR'],
  ['debug', 'DEBUG'],
])('console.%s is a line of level %s', async (method, level) => {
  await isolate.run(`console.${method}('a', 1)`);
  expect(isolate.logs).toEqual([[level, 'a 1']]);
});

it.each([
  [`'a', 1, true, null, undefined`, 'a 1 true null undefined'],
  [`{ a: [1, { b: 2 }] }, [1, 'x']`, '{"a":[1,{"b":2}]} [1,"x"]'],
  [`Object.assign(Object.create(null), { a: 1 })`, '{"a":1}'],
  [`new Error('no')`, 'Error: no'],
  [`new (class Thing { toString() { return 'a thing' } })()`, 'a thing'],
  [`new URL('https://a.b/')`, 'https://a.b/'],
  [`Buffer.from('text')`, 'text'],
  [`Symbol('s')`, 'Symbol(s)'],
  [`10n`, '10'],
  [`(() => { const a = {}; a.a = a; return a })()`, '[object that cannot be written as text]'],
  [`(() => { const a = []; a.push(a, 1n); return a })()`, '[array that cannot be written as JSON]'],
  [`{ toJSON() { throw new Error('gotcha') } }`, '[object that cannot be written as text]'],
  [`Object.create({ toString() { throw new Error('gotcha') } })`, '[object that cannot be written as text]'],
  [``, ''],
])('console.log(%s) writes %s', async (parts, message) => {
  await isolate.run(`console.log(${parts})`);
  expect(isolate.logs).toEqual([['LOG', message]]);
});
