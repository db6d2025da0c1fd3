// Sends a file of Segment or RudderStack messages (NDJSON, plain or gzipped) with the posthog-node client, as history.
//   npm install posthog-node uuid
//   node first-history.mjs history.ndjson.gz http://127.0.0.1:8000 phc_…
// Every event gets the same uuid as from `millrace send --from segment`, so you can mix both and repeat either: no event is
// stored twice. first-history.md describes how fields map.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createGunzip } from 'node:zlib';
import { PostHog } from 'posthog-node';
import { v5 } from 'uuid';

const namespace = '5f0b8f3c-6c0e-5d8e-9c5a-3b1f5a7e2d41';
const derivedId = (...parts) => v5(parts.join('\u001f'), namespace);

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const object = (value) => (isObject(value) ? value : {});
const text = (value) => {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
};
const at = (value, path) =>
  path.split('.').reduce((from, key) => (isObject(from) && Object.hasOwn(from, key) ? from[key] : undefined), value);

const contextPaths = {
  $app_build: 'app.build',
  $app_name: 'app.name',
  $app_namespace: 'app.namespace',
  $app_version: 'app.version',
  $current_url: 'page.url',
  $device_id: 'device.id',
  $device_manufacturer: 'device.manufacturer',
  $device_model: 'device.model',
  $device_name: 'device.name',
  $device_type: 'device.type',
  $lib: 'library.name',
  $lib_version: 'library.version',
  $locale: 'locale',
  $network_carrier: 'network.carrier',
  $os: 'os.name',
  $os_version: 'os.version',
  $pathname: 'page.path',
  $referrer: 'page.referrer',
  $screen_density: 'screen.density',
  $screen_height: 'screen.height',
  $screen_width: 'screen.width',
  $timezone: 'timezone',
  $useragent: 'userAgent',
  title: 'page.title',
  utm_campaign: 'campaign.name',
  utm_content: 'campaign.content',
  utm_medium: 'campaign.medium',
  utm_source: 'campaign.source',
  utm_term: 'campaign.term',
};

function contextProperties(message) {
  const found = {};
  for (const [property, path] of Object.entries(contextPaths)) {
    const value = at(message.context, path);
    if (value !== undefined && value !== null) found[property] = value;
  }
  const url = found.$current_url;
  if (typeof url === 'string' && URL.canParse(url) && new URL(url).host) found.$host = new URL(url).host;
  const ip = text(at(message, 'context.ip')) ?? text(message.request_ip);
  if (ip !== undefined) found.$ip = ip;
  const [user, anonymous] = [identityOf(message.userId), identityOf(message.anonymousId)];
  if (user !== undefined && anonymous !== undefined && anonymous !== user) found.$anon_distinct_id = anonymous;
  return found;
}

// Placeholder ids are shared by many strangers and must not merge them into one person.
const placeholders = new Set(
  'null nil <nil> undefined none nan n/a na unknown 0 -1 true false [] {} anon anonymous anonymous-user guest'.split(
    ' ',
  ),
);
for (const id of ['[object object]', 'not_authenticated', 'distinctid', 'distinct_id', 'email', 'id'])
  placeholders.add(id);
placeholders.add('00000000-0000-0000-0000-000000000000');

function identityOf(value) {
  const id = text(value);
  return id === undefined || placeholders.has(id.trim().toLowerCase()) ? undefined : id;
}

// Returns the name and own properties of the event, or undefined if the message cannot become an event.
function bodyOf(message) {
  const properties = object(message.properties);
  const traits = { ...object(at(message, 'context.traits')), ...object(message.traits) };
  const set = Object.keys(traits).length > 0 ? { $set: traits } : {};
  const person = object(at(message, 'context.traits'));
  const ofPerson = Object.keys(person).length > 0 ? { $set: person } : {};
  const category = text(message.category) === undefined ? {} : { category: message.category };
  const name = text(message.name) === undefined ? {} : { name: message.name };
  const screen = text(message.name) ?? text(properties.name);
  const group = text(message.groupId);
  const { groupType, ...groupTraits } = object(message.traits);
  const type = text(groupType) ?? 'group';
  switch (message.type) {
    case 'track':
      return text(message.event) && { event: text(message.event), properties: { ...set, ...properties } };
    case 'page':
      return { event: '$pageview', properties: { ...set, ...category, ...name, ...properties } };
    case 'screen': {
      const screenName = screen === undefined ? {} : { $screen_name: screen };
      return { event: '$screen', properties: { ...set, ...category, ...screenName, ...properties } };
    }
    case 'identify':
      return { event: '$identify', properties: { $set: traits } };
    case 'alias':
      return (
        text(message.previousId) && {
          event: '$create_alias',
          properties: { ...ofPerson, ...(identityOf(message.previousId) && { alias: text(message.previousId) }) },
        }
      );
    case 'group': {
      const own = { $group_type: type, $group_key: group, $group_set: groupTraits, $groups: { [type]: group } };
      return group && { event: '$groupidentify', properties: { ...ofPerson, ...own } };
    }
    default:
      return undefined;
  }
}

const isoTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d/;
const msOf = (value) => (typeof value === 'string' && isoTime.test(value) ? Date.parse(value) : Number.NaN);

// `timestamp` is already corrected. Without it, the arrival of the message corrects the sender's clock.
function timeOf({ timestamp, originalTimestamp, sentAt, receivedAt }) {
  if (text(timestamp) !== undefined) return text(timestamp);
  const ms = msOf(originalTimestamp) + msOf(receivedAt) - msOf(sentAt);
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  return text(originalTimestamp) ?? text(receivedAt) ?? text(sentAt);
}

/** Returns a function that converts messages to events, and returns undefined for a message that cannot become one. */
export function createMapper() {
  const seen = new Map();
  return (message) => {
    const body = isObject(message) ? bodyOf(message) : undefined;
    if (!body) return undefined;
    const ids = [message.userId, message.anonymousId];
    const distinctId = [...ids.map(identityOf), ...ids.map(text)].find((id) => id !== undefined);
    const timestamp = timeOf(message);
    if (distinctId === undefined || timestamp === undefined) return undefined;
    const messageId = text(message.messageId);
    const parts = messageId === undefined ? ['segment-content', JSON.stringify(message)] : ['segment', messageId];
    // An archive can contain a messageId more than once: the first keeps its plain id, the second gets "2" mixed in, …
    const first = derivedId(...parts);
    const occurrence = (seen.get(first) ?? 0) + 1;
    seen.set(first, occurrence);
    const uuid = occurrence === 1 ? first : derivedId(...parts, String(occurrence));
    return {
      uuid,
      distinctId,
      timestamp,
      event: body.event,
      properties: { ...contextProperties(message), ...body.properties },
    };
  };
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // Counted as skipped; `millrace send --dry-run --rejected FILE` reports the reason.
  }
}

async function main([file, host = 'http://127.0.0.1:8000', projectKey]) {
  if (!file || !projectKey) throw new Error('usage: node first-history.mjs FILE URL PROJECT_KEY');
  const client = new PostHog(projectKey, { host, historicalMigration: true, flushAt: 100, flushInterval: 0 });
  let failure;
  client.on('error', (error) => (failure ??= error));
  const toEvent = createMapper();
  let [sent, skipped] = [0, 0];
  const stream = createReadStream(file);
  const lines = createInterface({
    input: file.endsWith('.gz') ? stream.pipe(createGunzip()) : stream,
    crlfDelay: Infinity,
  });
  for await (const line of lines) {
    if (line.trim() === '') continue;
    const event = toEvent(parsed(line));
    if (event === undefined) skipped += 1;
    else {
      client.capture({ ...event, timestamp: new Date(event.timestamp) });
      sent += 1;
      // The client keeps at most 10,000 events and drops the oldest: wait for pending ones.
      if (sent % 1000 === 0) await client.flush();
    }
    if (failure) throw failure;
  }
  await client.flush();
  await client.shutdown();
  if (failure) throw failure;
  console.log(`sent ${sent}, skipped ${skipped}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(process.argv.slice(2)).catch((error) => {
    console.error(`stopped: ${error.message}. Run it again: no event is stored twice.`);
    process.exitCode = 1;
  });
}
