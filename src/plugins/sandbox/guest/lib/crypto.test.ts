import * as fc from 'fast-check';
import * as crypto from 'node:crypto';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestIsolate, type TestIsolate } from './isolate.fixture.ts';

let isolate: TestIsolate;

beforeAll(async () => {
  isolate = await openTestIsolate();
});

afterAll(() => isolate.close());

const keys = crypto.generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const quoted = { private: JSON.stringify(keys.privateKey), public: JSON.stringify(keys.publicKey) };

describe('crypto as in Node', () => {
  it('digests of any text, in pieces, in every encoding', async () => {
    const algorithm = fc.constantFrom('md5', 'sha1', 'sha256', 'SHA512', 'sha3-256');
    const encoding = fc.constantFrom('hex' as const, 'base64' as const, 'base64url' as const);
    const cases = fc.sample(fc.tuple(algorithm, fc.array(fc.string({ unit: 'binary' })), encoding), 500);
    const code = `${JSON.stringify(cases)}.map(([algorithm, pieces, encoding]) => {
      const hash = require('crypto').createHash(algorithm), hmac = require('crypto').createHmac(algorithm, 'key');
      for (const piece of pieces) { hash.update(piece); hmac.update(Buffer.from(piece)); }
      return [hash.digest(encoding), hmac.digest(encoding)];
    })`;
    const digests = cases.map(([name, pieces, form]) => {
      const [hash, hmac] = [crypto.createHash(name), crypto.createHmac(name, 'key')];
      for (const piece of pieces) {
        hash.update(piece);
        hmac.update(Buffer.from(piece));
      }
      return [hash.digest(form), hmac.digest(form)];
    });
    expect(await isolate.run(code)).toEqual(digests);
  });

  it.each([
    [
      `createHash('sha256').update('a').digest().toString('hex')`,
      crypto.createHash('sha256').update('a').digest('hex'),
    ],
    [
      `createHash('sha1').update('ff', 'hex').update(Uint8Array.of(1)).digest('hex')`,
      crypto.createHash('sha1').update(Buffer.of(255, 1)).digest('hex'),
    ],
    [
      `createHash('md5').update('é').update(Buffer.from('x')).digest('hex')`,
      crypto.createHash('md5').update('éx').digest('hex'),
    ],
    [`hash('sha256', 'a')`, crypto.createHash('sha256').update('a').digest('hex')],
    [`randomBytes(12).length`, 12],
    [`randomBytes(8).toString('hex').length`, 16],
    [
      `/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(randomUUID()) && randomUUID() !== randomUUID()`,
      true,
    ],
    [
      `timingSafeEqual(Buffer.from('ab'), Buffer.from('ab')) && !timingSafeEqual(Buffer.from('ab'), Buffer.from('ac'))`,
      true,
    ],
    [`Array.from({ length: 100 }, () => randomInt(3, 5)).every((n) => n === 3 || n === 4)`, true],
    [`new Promise((resolve) => randomBytes(4, (error, bytes) => resolve([error, bytes.length])))`, [null, 4]],
  ])('%s', async (code, value) => {
    expect(await isolate.run(`((crypto) => { with (crypto) return ${code}; })(require('crypto'))`)).toEqual(value);
  });

  it.each([
    [`createHash('sha257').update('a').digest()`, 'Digest method not supported: sha257'],
    [`createHash('sha256').update(5)`, 'expected text, a Buffer'],
    [`randomBytes(1e9)`, 'from 0 to 65536'],
    [`timingSafeEqual(Buffer.from('a'), Buffer.from('ab'))`, 'same byte length'],
    [`((hash) => { hash.digest(); hash.digest(); })(createHash('sha256'))`, 'Digest already called'],
    [`createSign('sha256').update('a').sign('nonsense')`, 'expected a private key as PEM text'],
    [`createSign('sha256').update('a').sign('-----BEGIN ENCRYPTED PRIVATE KEY-----')`, 'without a passphrase'],
  ])('%s is refused: %s', async (code, message) => {
    const failure = isolate.run(`((crypto) => { with (crypto) return ${code}; })(require('crypto'))`);
    await expect(failure).rejects.toThrow(message);
  });

  it('signatures match those of Node, both ways', async () => {
    const made = await isolate.run(
      `require('crypto').createSign('RSA-SHA256').update('a').update('b').sign(${quoted.private}, 'base64')`,
    );
    expect(crypto.createVerify('RSA-SHA256').update('ab').verify(keys.publicKey, String(made), 'base64')).toBe(true);
    const signature = crypto.createSign('sha512').update('ab').sign(keys.privateKey, 'hex');
    const code = `['ab', 'ac'].map((text) => require('crypto').createVerify('sha512').update(text).verify(${quoted.public}, '${signature}', 'hex'))`;
    expect(await isolate.run(code)).toEqual([true, false]);
  });
});

describe('jsonwebtoken', () => {
  interface Jwt {
    sign(payload: object, key: string, options?: object): string;
    verify(token: string, key: string, options?: object): unknown;
  }
  const jwt = createRequire(import.meta.url)('jsonwebtoken') as Jwt;

  it.each([
    ['HS256', '"secret"', 'secret', 'secret'],
    ['RS256', quoted.private, keys.privateKey, keys.publicKey],
  ])('%s: Node and the plugin verify tokens of each other', async (algorithm, guestKey, privateKey, publicKey) => {
    const token = await isolate.run(
      `require('jsonwebtoken').sign({ iss: 'me', n: 1 }, ${guestKey}, { algorithm: '${algorithm}', expiresIn: '1h' })`,
    );
    expect(jwt.verify(String(token), publicKey, { algorithms: [algorithm] })).toMatchObject({ iss: 'me', n: 1 });
    const other = jwt.sign({ a: 1 }, privateKey, { algorithm });
    const code = `(({ verify, decode }) => [verify('${other}', ${JSON.stringify(publicKey)}).a, decode('${other}').a])(require('jsonwebtoken'))`;
    expect(await isolate.run(code)).toEqual([1, 1]);
  });

  it.each([
    [jwt.sign({ exp: 1 }, 'k'), 'TokenExpiredError', 'jwt expired'],
    [jwt.sign({ nbf: 9e9 }, 'k'), 'NotBeforeError', 'jwt not active'],
    [jwt.sign({ a: 1 }, 'other'), 'JsonWebTokenError', 'invalid signature'],
    ['nonsense', 'JsonWebTokenError', 'jwt malformed'],
  ])('%s is refused with an error of its class: %s', async (token, name, message) => {
    const code = `((jwt) => { try { jwt.verify('${token}', 'k') } catch (error) {
      const classes = [error instanceof jwt.${name}, error instanceof jwt.JsonWebTokenError];
      return [error.name, error.message, ...classes, error.expiredAt ? error.expiredAt.getTime() : null];
    } })(require('jsonwebtoken'))`;
    expect(await isolate.run(code)).toEqual([name, message, true, true, name === 'TokenExpiredError' ? 1000 : null]);
  });

  it('with callbacks too', async () => {
    const code = `new Promise((resolve) => { const jwt = require('jsonwebtoken');
      jwt.sign({ a: 1 }, 'k', {}, (error, token) => jwt.verify(token, 'wrong', (failure) => resolve([error, failure.message]))); })`;
    expect(await isolate.run(code)).toEqual([null, 'invalid signature']);
  });
});
