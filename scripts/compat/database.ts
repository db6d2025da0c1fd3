import { Client } from 'pg';

export interface TrialDatabase {
  readonly port: string;
  readonly user: string;
}

/** Prepares the server at `url` for plugins that import from a table; undefined: there is none. */
export async function prepareDatabase(url: string | undefined): Promise<TrialDatabase | undefined> {
  if (url === undefined || url === '') return undefined;
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('DROP TABLE IF EXISTS import_event, posthog_event_export, redshift_event');
    await client.query('CREATE TABLE import_event (timestamp text, distinct_id text, event text, properties text)');
    const row = `('2024-05-01T10:00:00Z', 'u1', 'imported', '{"plan":"pro"}')`;
    await client.query(`INSERT INTO import_event VALUES ${[row, row, row].join(', ')}`);
  } finally {
    await client.end();
  }
  const { port, username: user } = new URL(url);
  return { port, user };
}
