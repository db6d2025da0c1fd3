import { createHmac } from 'node:crypto';
import { isIP } from 'node:net';
import { type SettingValues, yesNo } from '../fields.ts';
import { replaceIds } from './properties/replace-ids.ts';
import { defineTransformation, SettingsError, wrongSetting } from '../plugin.ts';
import type { JsonValue } from '../../base/json.ts';
import { deletePath, propertyPath, readPath, replacePath, setOwn } from './properties/property-path.ts';
import { listSetting, textSetting, yesSetting } from '../setting-values.ts';

const remove = 'Remove';
const saltLengthMin = 8;

/** Bounded repetitions: the time grows with the length of the text and nothing else. */
const emailForm = /[\w.%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/g;
/** Candidates only; `isIP` decides. */
const ipForm = /(?<![\w.:])[0-9A-Fa-f.:]{3,45}(?![\w:])/g;

export const redactPersonalData = defineTransformation({
  slug: 'redact-personal-data',
  name: 'Redact personal data',
  description: 'Hashes or removes personal data: properties that you list, distinct_ids, e-mail and IP addresses.',
  fields: [
    {
      key: 'properties',
      name: 'Properties',
      type: 'string',
      hint: 'Comma-separated. Nested properties with dots: $set.email',
    },
    {
      key: 'method',
      name: 'What happens to the values',
      type: 'choice',
      choices: ['Hash', remove],
      default: 'Hash',
      hint: 'Hash: the same value always becomes the same code, so that counting still works.',
    },
    {
      key: 'salt',
      name: 'Salt of the hash',
      type: 'string',
      secret: true,
      sent_to: [],
      hint: `At least ${saltLengthMin} random characters. Needed for hashing; with another salt the codes change.`,
    },
    {
      key: 'distinct_id',
      name: 'Hash the distinct_id too',
      ...yesNo('No'),
      hint: 'Properties that hold ids of persons ($anon_distinct_id, alias, $device_id, $user_id) are hashed with it.',
    },
    {
      key: 'emails',
      name: 'E-mail addresses in any text',
      ...yesNo('No'),
      hint: 'Wherever they stand in the properties, however deep.',
    },
    {
      key: 'ips',
      name: 'IP addresses in any text',
      ...yesNo('No'),
      hint: 'Wherever they stand in the properties, however deep.',
    },
  ],
  example: {
    settings: { properties: 'email', method: remove, emails: 'Yes', ips: 'Yes' },
    before: {
      event: 'contact',
      properties: { email: 'ada@example.com', note: 'Mail ada@example.com from 10.0.0.7', plan: 'pro' },
    },
    after: { properties: { note: 'Mail [redacted] from [redacted]', plan: 'pro' } },
  },
  create(settings) {
    const paths = listSetting(settings, 'properties').map(propertyPath);
    const removes = textSetting(settings, 'method') === remove;
    const hashesId = yesSetting(settings, 'distinct_id');
    const hash = createHash(settings, !removes || hashesId);
    const redactText = textRedaction(settings, removes ? () => '[redacted]' : hash);
    if (paths.length === 0 && !hashesId && redactText === undefined) {
      throw new SettingsError('nothing to redact: give "properties", or choose "distinct_id", "emails" or "ips"');
    }
    return (event) => {
      const { properties } = event;
      for (const path of paths) {
        const value = readPath(properties, path);
        if (value === undefined || value === null) continue;
        if (removes) deletePath(properties, path);
        else replacePath(properties, path, hash(typeof value === 'string' ? value : JSON.stringify(value)));
      }
      if (hashesId) replaceIds(event, hash);
      if (redactText !== undefined) redactDeep(properties, redactText);
      return event;
    };
  },
});

function createHash(settings: SettingValues, needed: boolean): (text: string) => string {
  const salt = textSetting(settings, 'salt');
  if (needed && salt.length < saltLengthMin) {
    throw wrongSetting('salt', `hashing needs at least ${saltLengthMin} random characters`);
  }
  return (text) => createHmac('sha256', salt).update(text).digest('hex');
}

function textRedaction(
  settings: SettingValues,
  substitute: (found: string) => string,
): ((text: string) => string) | undefined {
  const emails = yesSetting(settings, 'emails');
  const ips = yesSetting(settings, 'ips');
  if (!emails && !ips) return undefined;
  return (text) => {
    let redacted = text;
    if (emails && redacted.includes('@')) redacted = redacted.replace(emailForm, substitute);
    if (ips && /[.:]/.test(redacted)) redacted = redacted.replace(ipForm, (found) => redactIp(found, substitute));
    return redacted;
  };
}

/** A full stop or colon behind an address belongs to the sentence. */
function redactIp(found: string, substitute: (found: string) => string): string {
  const address = found.replace(/(?<=[^:])[.:]$/, '');
  return isIP(address) === 0 ? found : substitute(address) + found.slice(address.length);
}

/** In place, through lists and objects; names of properties stay. */
function redactDeep(holder: JsonValue, redact: (text: string) => string): void {
  if (typeof holder !== 'object' || holder === null) return;
  if (Array.isArray(holder)) {
    for (const [index, value] of holder.entries()) {
      if (typeof value === 'string') holder[index] = redact(value);
      else redactDeep(value, redact);
    }
    return;
  }
  for (const [key, value] of Object.entries(holder)) {
    if (typeof value === 'string') {
      const redacted = redact(value);
      if (redacted !== value) setOwn(holder, key, redacted);
    } else redactDeep(value, redact);
  }
}
