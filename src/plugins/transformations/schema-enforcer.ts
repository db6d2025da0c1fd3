import type { SettingValues } from '../fields.ts';
import type { Attachment } from '../host.ts';
import { defineTransformation, SettingsError } from '../plugin.ts';
import { isObject, type JsonValue, type JsonObject } from '../../base/json.ts';
import { setOwn } from '../property-path.ts';
import { jsonFile, jsonSetting, textSetting } from '../setting-values.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { guardedPattern } from './patterns/guarded-pattern.ts';

/** Checks an event's properties: returns `undefined` if they are valid, the properties to keep if others are removed, or the errors. */
type EventCheck = (properties: JsonObject) => JsonObject | string[] | undefined;

interface EventSchemas {
  /** By event name. */
  readonly checks: ReadonlyMap<string, EventCheck>;
  /** Whether events without a schema are invalid. */
  readonly onlyListed: boolean;
}

type PropertyType = 'string' | 'number' | 'boolean';

interface PropertyRule {
  readonly name: string;
  readonly type: PropertyType;
  readonly required: boolean;
}

const types: readonly string[] = ['string', 'number', 'boolean'] satisfies readonly PropertyType[];

/** Parses the file of the published schema enforcer. Throws SettingsError naming the event and property. */
function eventSchemas(given: JsonValue): EventSchemas {
  const byName = isObject(given) ? given['eventSchemas'] : undefined;
  if (!isObject(given) || !isObject(byName)) {
    throw new SettingsError('the event schemas: expected an object with "eventSchemas", an object by event name');
  }
  const entries = Object.entries(byName);
  const onlyListed = flag(given['onlyIngestEventsFromFile'], 'onlyIngestEventsFromFile');
  if (entries.length === 0 && !onlyListed) throw new SettingsError('the event schemas: expected at least one event');
  return { checks: new Map(entries.map(([name, schema]) => [name, eventCheck(name, schema)])), onlyListed };
}

function eventCheck(name: string, given: JsonValue): EventCheck {
  const where = `the schema of the event "${name}"`;
  if (!isObject(given)) throw new SettingsError(`${where}: expected an object`);
  const { schema, jsonSchema } = given;
  if (jsonSchema !== undefined) return jsonSchemaCheck(where, jsonSchema);
  if (!isObject(schema)) throw new SettingsError(`${where}: expected "schema", an object by property, or "jsonSchema"`);
  const rules = Object.entries(schema).map(([property, rule]) => readRule(where, property, rule));
  const onlyThese = flag(given['acceptOnlySchemaProps'], `acceptOnlySchemaProps of ${where}`);
  return (properties) => {
    const errors = problems(rules, properties);
    if (errors !== undefined) return errors;
    return onlyThese ? picked(rules, properties) : undefined;
  };
}

function readRule(where: string, name: string, rule: JsonValue): PropertyRule {
  const { type, required } = isObject(rule) ? rule : { type: undefined, required: undefined };
  const named = typeof type === 'string' ? type.toLowerCase() : '';
  if (!types.includes(named)) {
    throw new SettingsError(`${where}, property "${name}": "type" must be one of ${types.join(', ')}`);
  }
  return { name, type: named as PropertyType, required: flag(required, `required of "${name}" in ${where}`) };
}

function flag(value: JsonValue | undefined, name: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw new SettingsError(`the event schemas: expected true or false for ${name}`);
}

function problems(rules: readonly PropertyRule[], properties: JsonObject): string[] | undefined {
  let errors: string[] | undefined;
  for (const { name, type, required } of rules) {
    const value = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (value === undefined || value === null ? !required : typeof value === type) continue;
    const got =
      value === undefined ? 'nothing' : value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value;
    (errors ??= []).push(`${name}: expected ${type}, got ${got}`);
  }
  return errors;
}

function picked(rules: readonly PropertyRule[], properties: JsonObject): JsonObject {
  const kept: JsonObject = {};
  for (const { name } of rules) {
    const value = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (value !== undefined) setOwn(kept, name, value);
  }
  return kept;
}

/**
 * Compiles a schema once. Features that could take long on a sender's event are refused: patterns are guarded, and items that must
 * differ are not compared.
 */
function jsonSchemaCheck(where: string, schema: JsonValue): EventCheck {
  if (!isObject(schema)) throw new SettingsError(`${where}: expected "jsonSchema" to be an object`);
  const regExp = Object.assign(schemaPattern, { code: 'schemaPattern' });
  const ajv = new Ajv2020({
    strictTypes: false,
    strictRequired: false,
    logger: false,
    unicodeRegExp: false,
    code: { regExp },
  });
  let validate: ReturnType<typeof ajv.compile>;
  try {
    ajv.validateSchema(schema, true);
    ajv.removeKeyword('uniqueItems');
    validate = ajv.compile(schema);
  } catch (cause) {
    if (cause instanceof SettingsError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SettingsError(`${where}: this "jsonSchema" cannot be used: ${reason}`, { cause });
  }
  return (properties) => {
    if (validate(properties)) return undefined;
    return (validate.errors ?? []).map(
      ({ instancePath, message }) =>
        `${instancePath.slice(1) || 'properties'}: ${message ?? 'does not match the schema'}`,
    );
  };
}

/** The validator distinguishes patterns by their text. */
function schemaPattern(source: string): { test: (text: string) => boolean; toString: () => string } {
  const { test } = guardedPattern('eventSchemas', source);
  return { test, toString: () => source };
}

const keep = 'Keep it and say so';

export const schemaEnforcer = defineTransformation({
  slug: 'schema-enforcer',
  name: 'Schema enforcer',
  description: 'Checks the properties of events against a schema by event name, and drops or marks invalid ones.',
  alsoKnownAs: ['schema-enforcer-plugin', 'posthog-schema-enforcer-plugin'],
  differences: [
    'A property that is not required may be missing or null; the published one drops the event.',
    'A required property may be 0, false or ""; the published one treats these as missing.',
    'An event named like an object member (constructor) has no schema; the published one fails on it.',
  ],
  fields: [
    {
      key: 'eventSchemaFile',
      name: 'Event schemas, as a file',
      type: 'attachment',
      hint: 'A JSON file as described for the next setting.',
    },
    {
      key: 'eventSchemas',
      name: 'Event schemas',
      type: 'json',
      hint:
        'JSON: {"onlyIngestEventsFromFile": true, "eventSchemas": {"paid": {"acceptOnlySchemaProps": true, "schema": ' +
        '{"amount": {"type": "number", "required": true}}}}}. Types: string, number, boolean. Instead of "schema" an event may ' +
        'have a "jsonSchema", which its properties must satisfy.',
    },
    {
      key: 'onViolation',
      name: 'An event that violates its schema',
      type: 'choice',
      choices: ['Drop it', keep],
      default: 'Drop it',
      hint: 'Keep it and say so: the property $schema_errors lists the errors.',
    },
  ],
  example: {
    settings: {
      eventSchemas:
        '{"eventSchemas": {"paid": {"acceptOnlySchemaProps": true, "schema": {"amount": {"type": "number", "required": true}}}}}',
    },
    before: { event: 'paid', properties: { amount: 5, note: 'a typo away' } },
    after: { properties: { amount: 5 } },
  },
  create(settings, host) {
    const { checks, onlyListed } = eventSchemas(readSchemas(settings, host.attachments.get('eventSchemaFile')));
    const keeps = textSetting(settings, 'onViolation') === keep;
    const unlisted: EventCheck = () => ['no schema for an event of this name'];
    return (event) => {
      const check = checks.get(event.event) ?? (onlyListed ? unlisted : undefined);
      const result = check?.(event.properties);
      if (result === undefined) return event;
      if (!Array.isArray(result)) event.properties = result;
      else if (keeps) setOwn(event.properties, '$schema_errors', result);
      else return null;
      return event;
    };
  },
});

function readSchemas(settings: SettingValues, file: Attachment | undefined): JsonValue {
  const written = jsonSetting(settings, 'eventSchemas');
  if (written !== undefined) return written;
  if (file === undefined)
    throw new SettingsError('give the schemas: a file "eventSchemaFile", or "eventSchemas" as JSON');
  return jsonFile(file, 'eventSchemaFile');
}
