import { Client } from 'pg';

export interface TrialDatabase {
  readonly port: string;
  readonly user: string;
}

export interface TrialTls {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
}

/** Prepares the server at `url` for plugins that import from a table; `undefined` without a server. */
export async function prepareDatabase(url: string | undefined, tls: TrialTls): Promise<TrialDatabase | undefined> {
  if (url === undefined || url === '') return undefined;
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await speakTls(client, tls);
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

/** Export plugins insist on TLS. The files are the server's own, in its data directory. */
async function speakTls(client: Client, { key, cert }: TrialTls): Promise<void> {
  const store = async (text: string, file: string): Promise<void> => {
    const lines = client.escapeLiteral(text.trim());
    const program = client.escapeLiteral(`cat > ${file} && chmod 600 ${file}`);
    await client.query(`COPY (SELECT unnest(string_to_array(${lines}, E'\\n'))) TO PROGRAM ${program}`);
  };
  await store(key, 'server.key');
  await store(cert, 'server.crt');
  await client.query('ALTER SYSTEM SET ssl = on');
  await client.query('SELECT pg_reload_conf()');
}
