/** Example calls of each command, shown in its help and in the reference. Keyed by the command's words; a leading `millrace` is omitted. */
export const examples: Readonly<Record<string, readonly string[]>> = {
  '': ['serve', 'send events.ndjson --project-key phc_…', 'events tail', 'help import run'],
  serve: ['serve', 'serve --port 9000 --data-dir /srv/millrace'],
  send: [
    'send events.ndjson --project-key phc_…',
    'send history.ndjson.gz --from segment --historical',
    'send - --dry-run < events.ndjson',
  ],

  'import run': [
    'import mixpanel ./export.jsonl.gz --to http://127.0.0.1:8000 --project-key phc_… --api-key phx_…',
    'import segment "s3://my-bucket/2024/*.gz" --trial --report trial.html',
    'import mixpanel --source mixpanel --setting project_id=1 --setting service_account_secret=@secret.txt --from-date 2024-01-01',
  ],
  'import check': ['import check mixpanel ./export.jsonl.gz --rejected rejected.ndjson', 'import check --config 3'],
  'import plan': ['import plan amplitude "exports/*.json.gz" --from-date 2024-01-01'],
  'import preflight': ['import preflight mixpanel ./export.jsonl.gz', 'import preflight --config 3'],
  'import upload': ['import upload ./export.jsonl.gz', 'import upload ./export.jsonl.gz --name 2024.jsonl.gz --resume'],
  'import start': ['import start --config 3 --watch', 'import start --config 3 --trial --undo'],
  'import list': ['import list', 'import list --config 3 --output json'],
  'import watch': ['import watch', 'import watch --config 3 --run 0198c0de-0000-7000-8000-000000000000'],
  'import report': ['import report', 'import report --config 3 --out report.html'],
  'import verify': ['import verify --again', 'import verify --config 3 --json'],
  'import rejected': ['import rejected --out rejected.ndjson', 'import rejected --config 3'],
  'import pause': ['import pause --config 3'],
  'import resume': ['import resume --config 3', 'import resume --config 3 --rejected-max 1%'],
  'import cancel': ['import cancel --config 3 --yes'],
  'import retry-rejected': ['import retry-rejected --config 3'],
  'import promote': ['import promote --config 3'],
  'import undo': ['import undo --dry-run', 'import undo --config 3 --yes'],
  'import example': ['import example mixpanel', 'import example segment > records.ndjson'],

  demo: ['demo', 'demo --remove --yes'],
  runs: ['runs', 'runs --state failed --project 2', 'runs --json | jq -r .reason'],
  'schedules list': ['schedules list'],
  'schedules set': ['schedules set 3 --every 1h', 'schedules set 3 --at 03:30 --overlap 2h --from 2024-01-01'],
  'schedules pause': ['schedules pause 3'],
  'schedules resume': ['schedules resume 3'],
  'schedules run': ['schedules run 3'],
  'schedules delete': ['schedules delete 3'],

  'events tail': [
    'events tail',
    'events tail --event "signed up" --stage received stored',
    'events tail --json | jq .event',
  ],
  'events list': ['events list --limit 5', 'events list --distinct-id ada --after 2024-01-01 --output yaml'],
  'events counts': ['events counts --interval month', 'events counts --event "signed up" --json'],
  'erasures count': ['erasures count --distinct-id ada', 'erasures count --event "old *" --before 2020-01-01'],
  'erasures start': [
    'erasures start --distinct-id ada',
    'erasures start --ids-file ids.txt --keep-out --yes',
    'erasures start --event "old *" --before 2020-01-01',
  ],
  'erasures kept-out': ['erasures kept-out', 'erasures kept-out --remove ada'],
  'erasures list': ['erasures list'],
  'erasures show': ['erasures show 0198c0de-0000-7000-8000-000000000000'],
  'erasures certificate': ['erasures certificate 0198c0de-0000-7000-8000-000000000000 > certificate.json'],
  'erasures verify': ['erasures verify certificate.json'],
  'erasures cancel': ['erasures cancel 0198c0de-0000-7000-8000-000000000000'],
  'replays start': [
    'replays start --config 5 --after 2024-01-01',
    'replays start --config 5 --event "order *" --rate 500 --detach',
  ],
  'replays list': ['replays list'],
  'replays show': ['replays show 0198c0de-0000-7000-8000-000000000000'],
  'replays cancel': ['replays cancel 0198c0de-0000-7000-8000-000000000000'],
  'events export': [
    'events export --to ./export --after 2026-01-01 --format parquet',
    'events export --to ./export --tables events,persons,groups',
    'events export --event "order *" --destination @bucket.json',
  ],
  'exports list': ['exports list'],
  'exports show': ['exports show 0198c0de-0000-7000-8000-000000000000'],
  'exports download': ['exports download 0198c0de-0000-7000-8000-000000000000 --to ./export'],
  'exports cancel': ['exports cancel 0198c0de-0000-7000-8000-000000000000'],
  'exports delete': ['exports delete 0198c0de-0000-7000-8000-000000000000 --yes'],
  'persons list': ['persons list', 'persons list --email ada@example.com'],
  'persons show': ['persons show ada'],
  'persons merge-history': ['persons merge-history ada'],
  'groups types': ['groups types'],
  'groups list': ['groups list company --search acme'],
  'groups show': ['groups show company acme'],
  'dead-letters list': [
    'dead-letters list --reason plugin_failed',
    'dead-letters list --state discarded --output json',
  ],
  'dead-letters counts': ['dead-letters counts'],
  'dead-letters show': ['dead-letters show 12', 'dead-letters show 12 --original > event.json'],
  'dead-letters edit': [
    'dead-letters edit 0198c0de-0000-7000-8000-000000000000',
    'EDITOR=nano millrace dead-letters edit 12 --dry-run',
  ],
  'dead-letters replay': [
    'dead-letters replay 12 --corrected @event.json',
    'dead-letters replay --reason plugin_failed --dry-run',
    'dead-letters replay --all --yes',
  ],
  'dead-letters discard': ['dead-letters discard 12 --yes', 'dead-letters discard --before 2024-01-01 --dry-run'],
  'plan show': ['plan show', 'plan show --json'],
  'plan export': ['plan export --out plan.json'],
  'plan save': ['plan save plan.json --dry-run', 'plan save plan.json'],
  'plan learn': ['plan learn --out plan.json', 'plan learn --after 2026-11-01 --sample 1000000 --event "order *"'],
  'plan test': ['plan test events.ndjson'],
  'plan violations': ['plan violations', 'plan violations --event "Order Completed" --by day --json'],
  'plan versions': ['plan versions'],
  'plan restore': ['plan restore 3'],
  'plan remove': ['plan remove --yes'],
  'warnings list': ['warnings list'],
  'warnings show': ['warnings show message_too_large'],
  'retention show': ['retention show'],
  'retention preview': ['retention preview --live-days 365', 'retention preview --event "$pageview=30/365" --json'],
  'retention set': [
    'retention set --live-days 365 --historical-days forever',
    'retention set --event "heartbeat=7" --event "purchase=forever" --yes',
  ],
  usage: ['usage', 'usage --after 2024-01-01 --json'],
  status: ['status', 'status --json'],
  top: ['top', 'top --every 5'],

  'configs list': ['configs list', 'configs list --failing --output yaml', 'configs list --deleted'],
  'configs show': ['configs show 3'],
  'configs create': [
    `configs create --plugin drop-events --settings '{"events":"debug"}' --enabled`,
    'configs create --plugin files --name "Old history" --settings @settings.json',
  ],
  'configs update': [`configs update 3 --settings '{"events":"debug,trace"}'`, 'configs update 3 --name "Noise"'],
  'configs enable': ['configs enable 3'],
  'configs disable': ['configs disable 3'],
  'configs reorder': ['configs reorder 3 0'],
  'configs delete': ['configs delete 3 --yes'],
  'configs logs': ['configs logs 3', 'configs logs 3 --level ERROR --search timeout'],
  'configs metrics': ['configs metrics 3 --interval day'],
  'configs errors': ['configs errors 3'],
  'configs test': [
    `configs test 3 --event '{"event":"signed up","distinct_id":"ada"}'`,
    'configs test 3 --name "signed up"',
  ],
  'configs job': ['configs job 3 --type restart', 'configs job 3 --type run'],
  'configs jobs': ['configs jobs 3'],
  'configs activity': ['configs activity 3'],
  'configs restore': [
    'configs restore 3 --at 2024-05-01 --dry-run',
    'configs restore 3 --at 2024-05-01 --field settings --yes',
  ],
  'plugins list': ['plugins list'],
  'plugins show': ['plugins show drop-events'],
  'plugins install': [
    'plugins install ./my-plugin',
    'plugins install ./my-plugin.ts',
    'plugins install @posthog/url-normalizer-plugin@1.0.0',
  ],
  'plugins upgrade': ['plugins upgrade my-plugin --configs', 'plugins upgrade my-plugin ./my-plugin'],
  'plugins rollback': ['plugins rollback my-plugin --configs'],
  'plugins remove': ['plugins remove my-plugin --yes'],
  'transformation test': [
    'transformation test ./my-plugin.js --event event.json',
    'transformation test drop-events --config events=debug --event events.ndjson',
    'transformation test --chain --match-event "signed up"',
  ],
  export: ['export', 'export --file millrace.yaml'],
  diff: ['diff', 'diff --file millrace.yaml --prune'],
  apply: ['apply --dry-run', 'apply --file millrace.yaml --yes'],
  validate: ['validate --file millrace.yaml', 'validate --print-schema > millrace.schema.json'],

  'agreements list': ['agreements list'],
  'agreements file': ['agreements file --source "Old tool" --method "import app" --events 5000000 --speed 2000'],
  'agreements approve': ['agreements approve 2 --note "agreed by phone" --yes'],
  'agreements reject': ['agreements reject 2 --note "too many at once" --yes'],
  'agreements end': ['agreements end 2 --yes'],
  'notifications list': ['notifications list'],
  'notifications create': [
    'notifications create --name Ops --kind webhook --address https://ops.example.com/hook',
    'notifications create --name Mail --kind email --email ops@example.com --event run_failed --event config_failing',
  ],
  'notifications update': ['notifications update 1 --disable'],
  'notifications delete': ['notifications delete 1 --yes'],
  'notifications test': ['notifications test 1'],
  'notifications deliveries': ['notifications deliveries 1'],
  activity: ['activity', 'activity --scope PluginConfig --item 3'],

  'profiles list': ['profiles list'],
  'profiles add': ['profiles add production --url https://events.example.com --api-key @key.txt --use'],
  'profiles use': ['profiles use production'],
  'profiles remove': ['profiles remove production'],
  login: ['login', 'login ada@example.com --profile production'],
  'users list': ['users list'],
  'users add': ['users add ada@example.com --role editor'],
  'users role': ['users role ada@example.com admin'],
  'users remove': ['users remove ada@example.com --yes'],
  'keys list': ['keys list'],
  'keys create': [
    'export MILLRACE_API_KEY=$(millrace keys create)',
    'keys create CI --scope plugin:write --project 1 --expires 90d',
  ],
  'keys roll': ['keys roll 0198c0de-0000-7000-8000-000000000000 --yes'],
  'keys delete': ['keys delete 0198c0de-0000-7000-8000-000000000000 --yes'],
  'projects list': ['projects list', 'projects list --json | jq -r .api_token'],
  'projects create': ['projects create Staging --timezone Europe/Berlin'],
  'projects rotate-token': ['projects rotate-token 2 --yes'],
  'projects delete': ['projects delete 2 --yes'],
  'projects spread': ['projects spread 2 4'],
  'projects limits': ['projects limits 2', 'projects limits 2 --events-per-second 2000 --backlog-bytes default'],
  'config show': ['config show', 'MILLRACE_PORT=9000 millrace config show --json'],
  doctor: ['doctor', 'doctor --data-dir /srv/millrace'],
  backup: ['backup --to /backups/2026-11-23', 'backup --data-dir /srv/millrace --to s3://my-backups/2026-11-23'],
  restore: ['restore --from /backups/2026-11-23 --data-dir ./restored'],
  move: ['move --data-dir ./data --to cluster.json', 'move --to new-cluster.json'],
  healthcheck: ['healthcheck', 'healthcheck http://127.0.0.1:9000 --timeout 2'],
  openapi: ['openapi > openapi.json'],
  completion: ['source <(millrace completion bash)', 'completion fish > ~/.config/fish/completions/millrace.fish'],
  help: ['help import run'],
};

/** For a command that groups others. */
const shownMax = 4;

/**
 * Returns the examples as they are typed; for a command that only groups others, the first example of each of its first commands.
 *
 * @param path words of the command
 */
export function examplesOf(path: string): string[] {
  const own = examples[path];
  if (own !== undefined) return own.map(typed);
  const inner = Object.entries(examples).filter(([each]) => each.startsWith(`${path} `));
  return inner.slice(0, shownMax).flatMap(([, [first]]) => (first === undefined ? [] : [typed(first)]));
}

/** Adds the program's name unless the example starts with something else and contains it. */
function typed(example: string): string {
  return /\bmillrace [a-z]/.test(example) ? example : `millrace ${example}`;
}
