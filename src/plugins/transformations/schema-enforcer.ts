import type { SettingValues } from '../fields.ts';
import { eventSchemas, type EventCheck } from './event-schemas.ts';
import type { Attachment } from '../host.ts';
import { defineTransformation, SettingsError } from '../plugin.ts';
import type { JsonValue } from '../../base/json.ts';
import { setOwn } from './properties/property-path.ts';
import { jsonSetting, textSetting } from '../setting-values.ts';

const keep = 'Keep it and say so';

export const schemaEnforcer = defineTransformation({
  slug: 'schema-enforcer',
  name: 'Schema enforcer',
  description:
    'Checks the properties of events against a schema by event name, and drops or marks those that break it.',
  alsoKnownAs: ['schema-enforcer-plugin', 'posthog-schema-enforcer-plugin'],
  differences: [
    'A property that is not required may be missing or null; the published one drops the event.',
    'An event that is named like a part of every object, such as constructor, has no schema; the published one fails on it.',
    'A required property may be 0, false or ""; the published one takes these for missing.',
    'An event that is named like a part of every object (constructor) has no schema; the published one fails on it.',
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
      name: 'An event that breaks its schema',
      type: 'choice',
      choices: ['Drop it', keep],
      default: 'Drop it',
      hint: 'Keep it and say so: the property $schema_errors lists what is wrong.',
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
  try {
    return JSON.parse(Buffer.from(file.content).toString('utf8')) as JsonValue;
  } catch (cause) {
    throw new SettingsError('the file "eventSchemaFile": expected JSON', { cause });
  }
}
