import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runCommand } from '../../../test/support/command.ts';
import { exitCodes } from '../exit-codes.ts';
import { configurationFileJsonSchema } from './json-schema.ts';

const validate = (input: string) => runCommand(['validate', '--file', '-'], { input });
const editor = new Ajv({ strict: false }).compile(configurationFileJsonSchema());

const good = `version: 1
plugins:
  mine: { source: ./plugins/mine }
projects:
  - name: Shop
    timezone: Europe/Paris
    transformations:
      - plugin: drop-events
        settings: { events: $pageleave }
      - { plugin: mine, name: First, version: 1.0.0, settings: { anything: [1], token: { env: TOKEN } } }
      - { plugin: hash-properties, settings: { propertiesToHash: email, salt: { file: secrets/salt } } }
    import_apps:
      - plugin: mixpanel
        name: History
        previous_name: Old history
        enabled: false
        settings: { service_account: import, service_secret: { env: MIXPANEL_SECRET }, project_id: "1234567" }
        schedule: { daily_at: "03:30" }
`;
const config = (lines: string): string => `version: 1
projects:
  - name: Shop
    transformations:
      - ${lines}
`;

describe('millrace validate', () => {
  it('a file is checked without a service and without its secrets', async () => {
    const { code, stderr } = await validate(good);
    expect(stderr).toContain('valid: 1 project, 4 configs');
    expect(code).toBe(0);
    expect([editor(parse(good)), editor.errors]).toEqual([true, null]);
  });

  it.each([
    ['no YAML', 'version: [1', 'expected YAML'],
    ['nothing', '', 'expected keys with values, got nothing'],
    ['another version', 'version: 2\nprojects: [{ name: a }]\n', 'stdin:1:10: version: expected 1'],
    ['no project', 'version: 1\nprojects: []\n', 'projects'],
    [
      'a key that is misspelt',
      config('plugin: drop-events\n        setings: {}'),
      'unknown key; did you mean "settings"?',
    ],
    ['an unknown key', config('plugin: drop-events\n        colour: red'), 'expected one of plugin, name,'],
    ['no plugin', config('name: a'), 'expected "plugin"'],
    [
      'a schedule of what does not run',
      config('plugin: drop-events\n        settings: { events: a }\n        schedule: { every_minutes: 60 }'),
      'schedule: expected an import app whose source can select by time',
    ],
    [
      'text for a flag',
      config('plugin: drop-events\n        enabled: "no"'),
      'enabled: expected true or false, got text',
    ],
    ['a plugin that is misspelt', config('plugin: drop-event'), 'did you mean "drop-events"?'],
    ['a plugin of the other family', config('plugin: mixpanel'), 'list it under import_apps'],
    ['a setting that is misspelt', config('{ plugin: drop-events, settings: { event: a } }'), 'did you mean "events"?'],
    ['a setting that is missing', config('{ plugin: anonymise }'), 'expected "salt"'],
    ['a number for text', config('{ plugin: drop-events, settings: { events: 1.10 } }'), 'quote the number'],
    [
      'a secret in the file',
      config('{ plugin: hash-properties, settings: { propertiesToHash: email, salt: pepper } }'),
      'a secret: expected {env: NAME} or {file: PATH}, not the value',
    ],
    [
      'a version of what is built in',
      config('{ plugin: drop-events, version: "2" }'),
      'always has the version of Millrace',
    ],
    ['a project twice', 'version: 1\nprojects: [{ name: a }, { name: a }]\n', '"a" is listed twice'],
    ['no time zone', 'version: 1\nprojects: [{ name: a, timezone: Mars/Base }]\n', 'IANA name'],
    ['a built-in plugin to install', `plugins: { geoip: {} }\n${good.replace(/plugins:\n.*\n/, '')}`, 'is built in'],
    ['an invalid source', good.replace('./plugins/mine', 'mine'), 'expected a folder such as'],
    ['a key twice', 'version: 1\nversion: 1\nprojects: [{ name: a }]\n', 'expected YAML'],
  ])('%s is refused with its position', async (_name, text, message) => {
    const { code, stderr, stdout } = await validate(text);
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/stdin:|expected YAML/);
    expect([code, stdout]).toEqual([exitCodes.invalidConfig.code, '']);
  });

  it('all problems are reported together, by line, and never a secret', async () => {
    const { stderr } = await validate(
      config('{ plugin: hash-properties, enabled: true, settings: { propertyToHash: email, salt: pepper } }'),
    );
    expect(stderr).toMatch(/stdin:5:\d+:.*propertyToHash.*\n.*stdin:5:\d+:.*salt/);
    expect(stderr).not.toContain('pepper');
  });

  it('two configs that differ only in their order are noted', async () => {
    const { code, stderr } = await validate(`${config('plugin: geoip')}      - plugin: geoip\n`);
    expect(stderr).toContain('projects.0.transformations.1: has the same plugin and name as another');
    expect(code).toBe(0);
  });

  it('nested aliases do not exhaust memory', async () => {
    const levels = Array.from(
      { length: 30 },
      (_, level) => `  - &l${level + 1} [*l${level}, *l${level}, *l${level}]\n`,
    );
    const { code, stderr } = await validate(`version: 1\nx: &l0 [a]\nprojects:\n${levels.join('')}`);
    expect([code, stderr]).toEqual([exitCodes.invalidConfig.code, expect.stringContaining('alias')]);
  });

  it.each([
    ['an unknown key', config('plugin: drop-events\n        colour: red')],
    [
      'a secret in the file',
      config('{ plugin: hash-properties, settings: { propertiesToHash: email, salt: pepper } }'),
    ],
    ['an unknown setting', config('{ plugin: drop-events, settings: { event: a } }')],
    [
      'an invalid choice',
      config('{ plugin: hash-properties, settings: { salt: { env: A }, hashDistinctId: Perhaps } }'),
    ],
  ])('an editor also marks %s', (_name, text) => {
    expect(editor(parse(text))).toBe(false);
  });

  it('prints the schema for editors', async () => {
    const { code, stdout } = await runCommand(['validate', '--print-schema']);
    expect([code, JSON.parse(stdout)]).toEqual([0, JSON.parse(JSON.stringify(configurationFileJsonSchema()))]);
  });
});
