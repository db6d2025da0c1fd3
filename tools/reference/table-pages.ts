import { fileName, flagName } from '../../src/server/config/load.ts';
import { settingDefinitions, type SettingDefinition, type SettingName } from '../../src/server/config/settings.ts';
import { apiErrors, signInErrors, type ApiErrorCode } from '../../src/wire/contract/errors.ts';
import { scopeObjects } from '../../src/wire/contract/scopes.ts';
import { ingestionWarnings } from '../../src/wire/contract/warnings.ts';
import { doctorParts } from '../../src/server/service/doctor/checks.ts';
import { metricDefinitions } from '../../src/server/telemetry/metrics.ts';
import { code, page, table } from './markdown.ts';

export function settingsPage(): string {
  const about =
    'Precedence: flag > environment > file (`--config-file`, JSON by setting name) > default. Every secret can also come ' +
    'from a file, as `NAME_FILE`. `millrace config show` prints the values in force and where each comes from. An ' +
    'unknown `MILLRACE_…` variable stops the start: it is most likely misspelt.';
  const names = Object.keys(settingDefinitions) as SettingName[];
  const rows = names.map((name) => {
    const definition: SettingDefinition = settingDefinitions[name];
    const secret = definition.secret === true ? ' Secret.' : '';
    return [
      `${code(definition.env)} ${code(flagName(name))} ${code(fileName(name))}`,
      typeText(definition),
      code(String(definition.default)),
      definition.help + secret,
    ];
  });
  return page('Settings', about, table(['Variable, flag, name in a file', 'Type', 'Default', 'Meaning'], rows));
}

function typeText({ type, choices = [], min, max }: SettingDefinition): string {
  if (type === 'choice') return `one of ${choices.map(code).join(', ')}`;
  if (type === 'list') return `comma-separated: ${choices.map(code).join(', ')}`;
  if (type === 'integer') return `integer, ${min ?? '…'} to ${max ?? '…'}`;
  return type;
}

/** Headings of the troubleshooting page, by the error that users meet there. */
const symptoms: Partial<Record<ApiErrorCode, string>> = {
  parse_error: 'batch-answers-400-413-or-503',
  not_authenticated: 'batch-answers-401',
  authentication_failed: 'batch-answers-401',
  permission_denied: 'the-api-answers-401-or-403-or-a-command-exits-with-4',
  request_too_large: 'batch-answers-400-413-or-503',
  invalid_host: '421-invalid_host',
  throttled: '429-on-the-api',
  unavailable: 'batch-answers-400-413-or-503',
};

export function errorsPage(): string {
  const about =
    'Every error of the API has the body `{type, code, detail, attr}`; several field errors add `errors: [{code, detail, ' +
    'attr}]`. `attr` is the field at fault, nested names joined by `__`, or null. `X-Request-Id` finds the request in ' +
    'the log. Codes are stable and never used for something else.\n\nWhere capture takes nothing of a request because of ' +
    'its events, `errors` lists these, even a single one, as `{index, code, detail, attr}`. Their codes are those of the ' +
    '[ingestion warnings](warnings.md), as in `rejected` of an answer 200.';
  const codes = Object.keys(apiErrors) as ApiErrorCode[];
  const rows = codes.map((name) => {
    const { status, type, meaning } = apiErrors[name];
    const symptom = symptoms[name];
    const cure = symptom === undefined ? '' : ` [Cause and cure](../troubleshooting.md#${symptom})`;
    return [code(name), String(status), code(type), meaning + cure];
  });
  const api = table(['Code', 'Status', 'Type', 'Meaning'], rows);
  return page('Errors', about, api, signInSection());
}

function signInSection(): string {
  const rows = Object.entries(signInErrors).map(([name, { status, title, meaning }]) => [
    code(name),
    String(status),
    title,
    meaning,
  ]);
  const about =
    'Pages that a [sign-in with the OpenID Connect provider](../guides/sign-in.md) ends with when it is refused. Each shows its code ' +
    'and the request id.';
  return `## Sign-in\n\n${about}\n\n${table(['Code', 'Status', 'Page', 'Meaning'], rows)}`;
}

export function warningsPage(): string {
  const about =
    'Everything that happens to an event besides being stored as sent, counted per project, type and hour. `error`: the ' +
    'event was not stored and is a dead letter, which can be replayed. `warning`: stored, but changed. `info`: nothing ' +
    'is lost. The names are the same in the API, the metrics and the log.';
  const rows = Object.entries(ingestionWarnings).map(([name, { severity, meaning }]) => [
    code(name),
    severity,
    meaning,
  ]);
  return page('Ingestion warnings', about, table(['Type', 'Severity', 'Meaning'], rows));
}

export function metricsPage(): string {
  const about = '`GET /metrics` in the Prometheus text format. Histograms add `_bucket`, `_sum` and `_count`.';
  const rows = Object.entries(metricDefinitions).map(([name, { kind, labels, help }]) => [
    code(name),
    kind,
    labels.map(code).join(', '),
    help,
  ]);
  return page('Metrics', about, table(['Name', 'Kind', 'Labels', 'Meaning'], rows));
}

export function scopesPage(): string {
  const about =
    'What a personal API key may do: `<object>:read` or `<object>:write`, where write implies read, or `*` for ' +
    'everything except `erasure`, which is only granted by name. `millrace keys create --scope plugin:write query:read` makes a key.';
  const rows = Object.entries(scopeObjects).map(([name, meaning]) => [
    code(`${name}:read`),
    code(`${name}:write`),
    meaning,
  ]);
  return page('Scopes', about, table(['Read', 'Write', 'Object'], rows));
}

export function doctorPage(): string {
  const about =
    '`millrace doctor` makes these checks, all that apply to the settings, before a service is started or while it runs. It changes ' +
    'nothing, prints no secret, and limits each check to 10 s; a check that cannot be made is reported as a fault. Run it with the ' +
    'environment of the service, on each machine. It ends with 0 if no check failed, also with warnings, and with 1 otherwise.\n\n' +
    '`failed`: events are or will be refused, lost or wrong. `warning`: they may be, or operation is at risk. `--json` prints an ' +
    'object per finding: `code`, `part`, `state` (`ok`, `skipped`, `warning`, `failed`), `detail`, `advice`. Codes are stable.';
  const sections = doctorParts.map(({ title, checks }) => {
    const rows = Object.entries(checks).map(([name, { checks: what, severity, advice }]) => [
      code(name),
      severity,
      `${what.charAt(0).toUpperCase()}${what.slice(1)}.`,
      advice,
    ]);
    return `## ${title}\n\n${table(['Code', 'If not', 'What is checked', 'What to change'], rows)}`;
  });
  return page('Checks of `millrace doctor`', about, ...sections);
}
