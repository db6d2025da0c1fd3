/**
 * Runs a proof: `npm run prove -- <name> [options]`; without a name it lists them. A proof is a program under tools/prove that
 * reads the arguments after its name and sets the exit code: 0 when what it proves holds.
 */

/** Each proof, with what it shows. The file of the same name under tools/prove begins with its options. */
const proofs: Readonly<Record<string, string>> = {
  storm: 'one machine loses and doubles nothing while its processes are killed under load',
  soak: 'memory does not grow under steady load, and every event is accounted for',
  imports: 'an import is exact, however often importer or service are killed, or with a network that misbehaves',
  'real-exports':
    'exports as dirty as real ones are stored, skipped and rejected as an oracle apart from the readers says',
  'import-kills':
    'imports, a run that is taken back and one that is replaced are exact through kills of any process in any stage',
  move: 'a directory moves to PostgreSQL and ClickHouse, killed on the way, and nothing is lost or doubled',
  package: 'the package installs with npm alone, and serves, imports and tries transformations',
  'run-tables': 'runs go through their tables to the events exactly, with the engine killed at any moment',
  'console-scale': 'the console stays quick with a million events, and its memory where it is',
  fuzz: 'generated requests of every kind get no fault and no silence, and the good events among them are stored once',
  'hostile-requests': 'no request without a key costs the main thread more than 50 ms of the processor',
  schemathesis: 'every answer to requests that Schemathesis makes from the OpenAPI document is as the document has it',
  'cluster-storm': 'a cluster loses and doubles nothing while processes, Kafka and PostgreSQL are killed and stopped',
  'cluster-import': 'an import is exact on several processes of which one is killed again and again',
  scaling: 'what an event costs does not grow with the number of processes that store',
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
