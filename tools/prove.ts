/**
 * Runs a proof: `npm run prove -- <name> [options]`; without a name it lists them. A proof is a program under tools/prove that
 * reads the arguments after its name and sets the exit code: 0 when what it proves holds.
 */

/** Each proof and what it shows. The file of the same name under tools/prove begins with its options. */
const proofs: Readonly<Record<string, string>> = {
  storm: 'one machine loses and duplicates nothing while its processes are killed under load',
  soak: 'memory does not grow under steady load, and every event is accounted for',
  imports: 'an import is exact, however often importer or service are killed, and on a faulty network',
  'real-exports': 'exports as dirty as real ones are stored, skipped and rejected as an independent oracle predicts',
  'import-kills': 'imports, undone runs and replaced runs are exact through kills of any process in any stage',
  export:
    'an export that is killed again and again, imported into an empty service, gives the same events, persons and groups',
  move: 'a directory moves to PostgreSQL and ClickHouse, killed on the way, and nothing is lost or duplicated',
  package: 'the package installs with npm alone, and serves, imports and tests transformations',
  'run-tables': 'runs go through their tables to the events exactly, with the engine killed at any moment',
  'console-scale':
    'pages of the console load fast and accessibly with a million events, and their memory does not grow',
  fuzz: 'generated requests of every kind cause no fault and no hang, and the valid events among them are stored once',
  erase: 'an erased person is in no file of the service, and all others are unchanged, however often it is killed',
  retention: 'retention removes exactly what has expired, frees the disk, and costs little where whole months go',
  'hostile-requests': 'no request without a key costs the main thread more than 50 ms of the processor',
  schemathesis: 'every response to requests that Schemathesis generates from the OpenAPI document conforms to it',
  'cluster-storm': 'a cluster loses and duplicates nothing while processes, Kafka and PostgreSQL are killed and paused',
  rebalancing: 'every slot has an owner within 15 s and every event is stored once while pipelines join and leave',
  replicas: 'rows are stored exactly, and storing continues, while ClickHouse replicas are stopped and lose their disk',
  'cluster-import': 'an import is exact on several processes of which one is killed repeatedly',
  'rolling-upgrade': 'a cluster is upgraded, and one role back, without downtime, and stays exact',
  scaling: 'the cost of an event does not grow with the number of processes that store',
};

const [name] = process.argv.splice(2, 1);
if (name !== undefined && Object.hasOwn(proofs, name)) {
  await import(new URL(`prove/${name}.ts`, import.meta.url).href);
} else {
  const width = Math.max(...Object.keys(proofs).map((each) => each.length));
  const list = Object.entries(proofs).map(([each, shows]) => `  ${each.padEnd(width)}  ${shows}`);
  const wrong = name === undefined ? [] : [`expected the name of a proof, got: ${name}`];
  console.log([...wrong, 'usage: npm run prove -- <name> [options]', '', ...list].join('\n'));
  process.exitCode = name === undefined ? 0 : 2;
}
