import { Ajv2020 } from 'ajv/dist/2020.js';
import { guardedPattern } from './patterns/guarded-pattern.ts';
import { SettingsError } from '../plugin.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { setOwn } from './properties/property-path.ts';

/** Of an event's properties: undefined when they are right, those to keep when others go, or what is wrong with them. */
export type EventCheck = (properties: JsonObject) => JsonObject | string[] | undefined;

export interface EventSchemas {
  /** By event name. */
  readonly checks: ReadonlyMap<string, EventCheck>;
  /** Events without a schema break the rules. */
  readonly onlyListed: boolean;
}

type PropertyType = 'string' | 'number' | 'boolean';

interface PropertyRule {
  readonly name: string;
  readonly type: PropertyType;
  readonly required: boolean;
}

const types: readonly string[] = ['string', 'number', 'boolean'] satisfies readonly PropertyType[];

/** Reads the file of the published schema enforcer. Throws SettingsError naming the event and property. */
export function eventSchemas(given: JsonValue): EventSchemas {
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
 * A schema is compiled once. What would take a sender's event long to check is refused: patterns are guarded, and items that
 * must differ are not compared.
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
      ({ instancePath, message }) => `${instancePath.slice(1) || 'properties'}: ${message ?? 'not as the schema says'}`,
    );
  };
}

/** The validator tells patterns apart by their text. */
function schemaPattern(source: string): { test: (text: string) => boolean; toString: () => string } {
  const { test } = guardedPattern('eventSchemas', source);
  return { test, toString: () => source };
}
