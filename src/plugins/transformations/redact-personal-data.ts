import { createHmac } from 'node:crypto';
import { type SettingValues, yesNo } from '../fields.ts';
import { changeTexts } from './properties/change-texts.ts';
import { replaceAddresses } from './properties/replace-addresses.ts';
import { replaceIds } from './properties/replace-ids.ts';
import { defineTransformation, SettingsError, wrongSetting } from '../plugin.ts';
import { deletePath, propertyPath, readPath, replacePath } from '../property-path.ts';
import { listSetting, textSetting, yesSetting } from '../setting-values.ts';

const remove = 'Remove';
const saltLengthMin = 8;

/** Also matches the encoded form in page addresses. Bounded repetition keeps the time linear in the length of the text. */
const emailForm = /[\w.%+-]{1,64}(?:@|%40)[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/g;

export const redactPersonalData = defineTransformation({
  slug: 'redact-personal-data',
  name: 'Redact personal data',
  description: 'Hashes or removes personal data: listed properties, distinct_ids, e-mail and IP addresses.',
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
      hint: 'Hash: the same value always gets the same hash, so that counting still works.',
    },
    {
      key: 'salt',
      name: 'Salt of the hash',
      type: 'string',
      secret: true,
      sent_to: [],
      hint: `At least ${saltLengthMin} random characters. Needed for hashing; another salt changes the hashes.`,
    },
    {
      key: 'distinct_id',
      name: 'Hash the distinct_id too',
      ...yesNo('No'),
      hint: 'Properties with ids of persons ($anon_distinct_id, alias, $device_id, $user_id) are hashed with it.',
    },
    {
      key: 'emails',
      name: 'E-mail addresses in any text',
      ...yesNo('No'),
      hint: 'Anywhere in the properties, at any depth.',
    },
    {
      key: 'ips',
      name: 'IP addresses in any text',
      ...yesNo('No'),
      hint: 'Anywhere in the properties, at any depth.',
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
      if (redactText !== undefined) changeTexts(properties, redactText);
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
    if (emails && /@|%40/.test(redacted)) redacted = redacted.replace(emailForm, substitute);
    if (ips) redacted = replaceAddresses(redacted, substitute);
    return redacted;
  };
}
