import { describe, expect, it } from 'vitest';
import { engineCode, insertError, queryError } from './engine-errors.ts';
import { ServerAwayError, StoreDeniedError, StoreUnavailableError } from './eventstore.ts';

describe('errors of the engine', () => {
  const inserts: readonly [string, boolean][] = [
    ['Code: 33. DB::Exception: Code: 33. DB::Exception: Cannot read all data. (CANNOT_READ_ALL_DATA)', false],
    ['Code: 117. DB::Exception: Incorrect data. (INCORRECT_DATA)', false],
    ['Code: 243. DB::Exception: Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)', true],
    ['Code: 252. DB::Exception: Too many parts. (TOO_MANY_PARTS)', true],
    ['Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)', true],
    ['Code: 60. DB::Exception: Table does not exist. (UNKNOWN_TABLE)', true],
    ['expected the engine to read 2 rows from the spool file, it read 0', true],
  ];
  it.each(inserts)('of an insert, "%.40s" is a fault of the store: %s', (message, unavailable) => {
    expect(insertError(message) instanceof StoreUnavailableError).toBe(unavailable);
    expect(insertError(message).message).toContain(message);
  });

  const queries: readonly [string, boolean][] = [
    ['Code: 159. DB::Exception: Timeout exceeded. (TIMEOUT_EXCEEDED)', true],
    ['Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)', true],
    ['Code: 62. DB::Exception: Syntax error. (SYNTAX_ERROR)', false],
    ['Code: 164. DB::Exception: Cannot execute query in readonly mode. (READONLY)', false],
    ['Code: 1000, e.code() = 0, HTML Form Exception: Field value too long', false],
    ['something else', false],
  ];
  it.each(queries)('of a query, "%.40s" is a fault of the store: %s', (message, unavailable) => {
    expect(queryError(message) instanceof StoreUnavailableError).toBe(unavailable);
  });

  it.each([209, 210, 225, 242, 279, 319, 667, 999])('code %i causes a retry at another replica', (code) => {
    const message = `Code: ${code}. DB::Exception: Trouble of this server. (NAME)`;
    expect([insertError(message), queryError(message)]).toEqual([
      expect.any(ServerAwayError),
      expect.any(ServerAwayError),
    ]);
  });

  it.each([32, 33])(
    'code %i of a query causes a retry if another replica ended while it sent rows, and otherwise none',
    (code) => {
      const text = `Code: ${code}. Attempt to read after eof`;
      const sent = queryError(
        `${text}: while receiving packet from 10.0.0.2:9000, local address: 10.0.0.1:37950: While executing Remote.`,
      );
      expect(sent).toBeInstanceOf(ServerAwayError);
      expect(queryError(`${text}: While executing MergeTreeSelect.`)).not.toBeInstanceOf(StoreUnavailableError);
    },
  );

  it('a missing database must be created on every server', () => {
    const message = 'Code: 81. DB::Exception: Database millrace does not exist. (UNKNOWN_DATABASE)';
    expect(queryError(message).message).toMatch(/does not exist.* Create the database .* \(on every server/);
  });

  it('a form that the server refuses has a code as well', () => {
    expect(engineCode('Poco::Exception. Code: 1000, e.code() = 0, HTML Form Exception: Field value too long')).toBe(
      1000,
    );
  });

  it('a query without permission is reported as denied', () => {
    const message = 'Code: 497. DB::Exception: reader: Not enough privileges. (ACCESS_DENIED)';
    expect(queryError(message)).toBeInstanceOf(StoreDeniedError);
  });
});
