import type { SettingValues } from '../fields.ts';
import type { TransformationHost } from '../host.ts';
import { defineTransformation, SettingsError, wrongSetting, type TransformEvent } from '../plugin.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { propertyPath, readPath, setOwn, writePath, type PropertyPath } from '../property-path.ts';
import { jsonSetting, textSetting } from '../setting-values.ts';

type Rates = ReadonlyMap<string, number>;
/** Never throws: an Error says why there are no rates. */
type RatesSource = () => Promise<Rates | Error>;

const cacheKey = 'currency_rates';
const daySeconds = 86_400;
const retryAfterMs = 60_000;
const ratesUrl = 'https://openexchangerates.org/api/latest.json';

export const currency = defineTransformation({
  slug: 'currency',
  name: 'Currency normalization',
  description: 'Converts amounts to one currency, at daily or fixed rates.',
  alsoKnownAs: ['Currency Normalization', 'currency-normalization-plugin'],
  differences: [
    'Amounts that are not numbers stay unchanged; the published one writes 0 or nothing for them.',
    'Lower-case currencies are recognised too.',
    'Without rates the event counts as failed and stays unchanged; older rates are used if new ones are unavailable.',
    'The key is sent in a header, not in the URL.',
  ],
  fields: [
    {
      key: 'openExchangeRatesApiKey',
      name: 'App ID of openexchangerates.org',
      type: 'string',
      secret: true,
      sent_to: [],
      hint: 'Rates are fetched once a day. Not needed when fixed rates are given.',
    },
    {
      key: 'rates',
      name: 'Fixed rates',
      type: 'json',
      hint: 'JSON object from currency to its amount per unit of a common currency: {"USD": 1, "EUR": 0.92}',
    },
    {
      key: 'normalizedCurrency',
      name: 'Currency to convert to',
      type: 'string',
      required: true,
      hint: 'Three letters: EUR',
    },
    {
      key: 'amountProperty',
      name: 'Property that holds the amount',
      type: 'string',
      required: true,
      default: 'amount',
      hint: 'A number, or text in the form of one. Nested properties with dots.',
    },
    {
      key: 'currencyProperty',
      name: 'Property that holds the currency',
      type: 'string',
      required: true,
      default: 'currency',
      hint: 'Three letters. Nested properties with dots.',
    },
    {
      key: 'normalizedAmountProperty',
      name: 'Property for the converted amount',
      type: 'string',
      required: true,
      default: 'normalized_amount',
      hint: 'Rounded to four decimals.',
    },
    {
      key: 'normalizedCurrencyProperty',
      name: 'Property for the currency converted to',
      type: 'string',
      required: true,
      default: 'normalized_currency',
      hint: 'The same for every event.',
    },
  ],
  example: {
    settings: { rates: '{"USD": 1, "EUR": 0.8}', normalizedCurrency: 'EUR' },
    before: { event: 'paid', properties: { amount: 10, currency: 'USD' } },
    after: { properties: { amount: 10, currency: 'USD', normalized_amount: 8, normalized_currency: 'EUR' } },
  },
  create(settings, host) {
    const target = textSetting(settings, 'normalizedCurrency').trim();
    if (target === '') throw wrongSetting('normalizedCurrency', 'expected a currency, e.g. EUR');
    const ratesOf = createRatesSource(settings, host, target);
    const amount = propertyPath(textSetting(settings, 'amountProperty', 'amount'));
    const from = propertyPath(textSetting(settings, 'currencyProperty', 'currency'));
    const amountTo = propertyPath(textSetting(settings, 'normalizedAmountProperty', 'normalized_amount'));
    const currencyTo = propertyPath(textSetting(settings, 'normalizedCurrencyProperty', 'normalized_currency'));
    const convert = (event: TransformEvent, rates: Rates): TransformEvent => {
      const money = moneyOf(event.properties, amount, from);
      const rate = money && rateOf(rates, money.currency);
      const targetRate = rateOf(rates, target);
      if (money === undefined || rate === undefined || targetRate === undefined) return event;
      write(event.properties, amountTo, Math.round(((money.amount * targetRate) / rate) * 10_000) / 10_000);
      write(event.properties, currencyTo, target);
      return event;
    };
    return {
      async batch(events) {
        if (!events.some((event) => moneyOf(event.properties, amount, from) !== undefined)) return events;
        const rates = await ratesOf();
        return events.map((event) => {
          if (!(rates instanceof Error)) return convert(event, rates);
          return moneyOf(event.properties, amount, from) === undefined ? event : rates;
        });
      },
    };
  },
});

function moneyOf(
  properties: JsonObject,
  amountPath: PropertyPath,
  currencyPath: PropertyPath,
): { amount: number; currency: string } | undefined {
  const currency = readPath(properties, currencyPath);
  if (typeof currency !== 'string') return undefined;
  const given = readPath(properties, amountPath);
  const amount = typeof given === 'string' && given.trim() !== '' ? Number(given) : given;
  return typeof amount === 'number' && Number.isFinite(amount) ? { amount, currency } : undefined;
}

function rateOf(rates: Rates, currency: string): number | undefined {
  return rates.get(currency) ?? rates.get(currency.toUpperCase());
}

function write(properties: JsonObject, path: PropertyPath, value: JsonValue): void {
  if (path.parts.length === 1) setOwn(properties, path.whole, value);
  else writePath(properties, path, value);
}

function createRatesSource(settings: SettingValues, host: TransformationHost, target: string): RatesSource {
  const given = jsonSetting(settings, 'rates');
  if (given !== undefined) {
    const rates = readRates(given);
    if (rates === undefined) throw wrongSetting('rates', 'expected a JSON object from currency to number');
    if (rateOf(rates, target) === undefined) throw wrongSetting('rates', `no rate for "${target}"`);
    return async () => rates;
  }
  const key = textSetting(settings, 'openExchangeRatesApiKey').trim();
  if (key === '') throw new SettingsError('give "openExchangeRatesApiKey", or fixed "rates"');
  return fetchedRates(key, host);
}

interface Fetched {
  readonly rates: Rates;
  readonly fetchedAtMs: number;
}

/** Rates are at most a day old while they can be fetched; a failure is remembered for a minute, so that not every batch waits for one. */
function fetchedRates(key: string, host: TransformationHost): RatesSource {
  let latest: Fetched | undefined;
  let failure: { error: Error; atMs: number } | undefined;
  return async () => {
    const now = host.now();
    latest ??= await fromCache(host);
    if (latest !== undefined && now - latest.fetchedAtMs < daySeconds * 1000) return latest.rates;
    if (failure === undefined || now - failure.atMs >= retryAfterMs) {
      const rates = await fetchRates(key, host);
      if (!(rates instanceof Error)) {
        latest = { rates, fetchedAtMs: now };
        failure = undefined;
        await host.cache.set(cacheKey, JSON.stringify([now, Object.fromEntries(rates)]), daySeconds);
        return rates;
      }
      failure = { error: rates, atMs: now };
    }
    return latest?.rates ?? failure.error;
  };
}

async function fromCache(host: TransformationHost): Promise<Fetched | undefined> {
  const text = await host.cache.get(cacheKey);
  if (text === undefined) return undefined;
  const [fetchedAtMs, given] = JSON.parse(text) as [number, JsonValue];
  const rates = readRates(given);
  return rates && { rates, fetchedAtMs };
}

async function fetchRates(key: string, host: TransformationHost): Promise<Rates | Error> {
  const failed = (why: string): Error =>
    new Error(
      `openexchangerates.org returned no rates: ${why.replaceAll(key, '…')}. Check the key, or give fixed "rates"`,
    );
  try {
    const response = await host.fetch({ url: ratesUrl, headers: { authorization: `Token ${key}` } });
    if (response.status !== 200) return failed(`it responded ${response.status}`);
    const body = JSON.parse(new TextDecoder().decode(response.body)) as JsonValue;
    const rates = isObject(body) && Object.hasOwn(body, 'rates') ? readRates(body['rates']) : undefined;
    return rates ?? failed('the response contains none');
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
}

function readRates(given: JsonValue | undefined): Rates | undefined {
  if (!isObject(given)) return undefined;
  const rates = new Map<string, number>();
  for (const [name, rate] of Object.entries(given)) {
    if (typeof rate !== 'number' || !(rate > 0)) return undefined;
    rates.set(name, rate);
  }
  return rates.size === 0 ? undefined : rates;
}
