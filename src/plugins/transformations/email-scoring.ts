import { hash } from 'node:crypto';
import type { TransformationHost } from '../host.ts';
import { personProperties, personPropertiesIfAny } from './properties/person-properties.ts';
import { defineTransformation, wrongSetting, type TransformEvent } from '../plugin.ts';
import { isObject, type JsonValue } from '../../base/json.ts';
import { textSetting } from '../setting-values.ts';

const apiUrl = 'https://apilayer.net/api/check';
const parallelMax = 5;
const keptSeconds = 30 * 86_400;
/** Pause after a failure, so that an outage does not cost every batch a timeout. */
const pauseMs = 60_000;
const emailLengthMax = 254;
const emailForm = /^[^\s@<>()[\]\\,;:"]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}$/u;

export const emailScoring = defineTransformation({
  slug: 'email-scoring',
  name: 'Email scoring',
  description: 'Rates the e-mail address of an identified person with Mailboxlayer.',
  alsoKnownAs: ['mailboxlayer-plugin'],
  differences: [
    'Only valid addresses are looked up; the published one looks up any $set.email.',
    'An address is looked up once in 30 days, not for every event.',
    'If the look-up fails, the event counts as failed and is stored without a score.',
    'The key is verified with the first address, not when the settings are saved.',
  ],
  fields: [
    {
      key: 'mailboxlayerApiKey',
      name: 'Mailboxlayer API key',
      type: 'string',
      required: true,
      secret: true,
      sent_to: [],
      hint: 'The access key of your mailboxlayer.com account. Each address is looked up once in 30 days.',
    },
  ],
  example: {
    settings: { mailboxlayerApiKey: 'only-an-example' },
    before: { event: '$identify', properties: { $set: { email: 'ada@example.com' } } },
    after: { properties: { $set: { email: 'ada@example.com', email_score: 0.8, suggested_email_fix: '' } } },
  },
  create(settings, host) {
    const key = textSetting(settings, 'mailboxlayerApiKey').trim();
    if (key === '') throw wrongSetting('mailboxlayerApiKey', 'expected the access key of your account');
    const scoreOf = createScores(key, host);
    return {
      async batch(events) {
        const emails = new Set(events.map(emailOf).filter((email) => email !== undefined));
        if (emails.size === 0) return events;
        const scores = await lookUp([...emails], scoreOf);
        return events.map((event) => {
          const email = emailOf(event);
          const score = email === undefined ? undefined : scores.get(email);
          if (score === undefined || score instanceof Error) return score ?? event;
          Object.assign(personProperties(event.properties, '$set'), {
            email_score: score.score,
            suggested_email_fix: score.fix,
          });
          return event;
        });
      },
    };
  },
});

interface Score {
  readonly score: JsonValue;
  readonly fix: JsonValue;
}

/** Returns the distinct_id if it is an address, otherwise `$set.email`. */
function emailOf(event: TransformEvent): string | undefined {
  if (event.event !== '$identify') return undefined;
  if (isEmail(event.distinct_id)) return event.distinct_id;
  const email = personPropertiesIfAny(event.properties, '$set')?.['email'];
  return typeof email === 'string' && isEmail(email) ? email : undefined;
}

function isEmail(text: string): boolean {
  return text.length <= emailLengthMax && emailForm.test(text);
}

async function lookUp(
  emails: readonly string[],
  scoreOf: (email: string) => Promise<Score | Error>,
): Promise<ReadonlyMap<string, Score | Error>> {
  const scores = new Map<string, Score | Error>();
  for (let start = 0; start < emails.length; start += parallelMax) {
    const some = emails.slice(start, start + parallelMax);
    const found = await Promise.all(some.map(scoreOf));
    for (const [index, email] of some.entries()) {
      const score = found[index];
      if (score !== undefined) scores.set(email, score);
    }
  }
  return scores;
}

function createScores(key: string, host: TransformationHost): (email: string) => Promise<Score | Error> {
  let failure: { readonly error: Error; readonly untilMs: number } | undefined;
  return async (email) => {
    // Addresses of persons must not be stored in the cache.
    const cacheKey = `email_score:${hash('sha256', email.toLowerCase(), 'hex')}`;
    const known = await host.cache.get(cacheKey);
    if (known !== undefined) return JSON.parse(known) as Score;
    if (failure !== undefined && host.now() < failure.untilMs) return failure.error;
    const score = await ask(key, email, host);
    if (score instanceof Error) failure = { error: score, untilMs: host.now() + pauseMs };
    else await host.cache.set(cacheKey, JSON.stringify(score), keptSeconds);
    return score;
  };
}

/** Errors contain neither the key nor the address: both are in the URL. */
async function ask(key: string, email: string, host: TransformationHost): Promise<Score | Error> {
  const query = new URLSearchParams({ access_key: key, email, format: '1' });
  let answer: unknown;
  try {
    const response = await host.fetch({ url: `${apiUrl}?${query}` });
    if (response.status !== 200) return new Error(`expected status 200 from Mailboxlayer, got: ${response.status}`);
    answer = JSON.parse(Buffer.from(response.body).toString('utf8'));
  } catch (cause) {
    const reason =
      cause instanceof SyntaxError ? 'its response is not JSON' : cause instanceof Error ? cause.message : '';
    return new Error(`the request to Mailboxlayer failed: ${reason}`, { cause });
  }
  const { score = null, did_you_mean: fix = '', error } = isObject(answer as JsonValue) ? (answer as Answer) : {};
  if (typeof score === 'number') return { score, fix };
  const type = isObject(error) && typeof error['type'] === 'string' ? error['type'] : 'a response without a score';
  return new Error(`Mailboxlayer returned no score: ${type}; check the key and the limits of the account`);
}

interface Answer {
  readonly score?: JsonValue;
  readonly did_you_mean?: JsonValue;
  readonly error?: JsonValue;
}
