import { describe, expect, it } from 'vitest';
import { openPostgres } from './postgres.ts';

describe('the address of PostgreSQL', () => {
  it.each(['', 'secret-word', 'mysql://user:secret-word@db/x', 'postgres://user:secret-word@db:notaport/x'])(
    'refuses an invalid address without repeating it (%#)',
    (url) => {
      let message = '';
      try {
        openPostgres(url);
      } catch (error) {
        message = String(error) + JSON.stringify(error);
      }
      expect(message).toContain('expected DATABASE_URL to be like postgres://');
      expect(message).not.toContain('secret-word');
    },
  );

  it('an unreachable server fails the first query, without showing the password', async () => {
    const db = openPostgres('postgres://user:secret-word@127.0.0.1:1/x');
    const failure = await db.selectFrom('projects').select('id').execute().catch(String);
    expect(failure).toContain('ECONNREFUSED');
    expect(failure).not.toContain('secret-word');
    await db.destroy();
  });
});
