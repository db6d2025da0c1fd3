import type { ConnectionOptions as TlsOptions } from 'node:tls';
import type { SASLOptions } from '@platformatic/kafka';
import type { SettingValues } from '../../plugins/fields.ts';
import { wrongSetting } from '../../plugins/plugin.ts';
import { listSetting, neededSetting, textSetting } from '../../plugins/setting-values.ts';

export const tlsChoices = ['auto', 'verify', 'no verify', 'off'] as const;
export const mechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;
const standardPort = 9092;

export interface KafkaBroker {
  readonly host: string;
  readonly port: number;
}

export interface KafkaPlace {
  /** At least one; the others of the cluster are told by them. */
  readonly brokers: readonly KafkaBroker[];
  readonly topic: string;
  /** Undefined: without encryption. */
  readonly tls: Pick<TlsOptions, 'rejectUnauthorized' | 'ca' | 'cert' | 'key'> | undefined;
  /** Undefined: nobody logs in. */
  readonly sasl: SASLOptions | undefined;
}

/** Throws SettingsError. */
export function kafkaPlaceOf(settings: SettingValues): KafkaPlace {
  const user = textSetting(settings, 'user');
  const mechanism = mechanisms.find((each) => each === textSetting(settings, 'mechanism', 'PLAIN'));
  if (mechanism === undefined) throw wrongSetting('mechanism', `expected ${mechanisms.join(', ')}`);
  const password = textSetting(settings, 'password');
  return {
    brokers: brokersOf(settings),
    topic: neededSetting(settings, 'topic'),
    tls: tlsOf(settings, user !== ''),
    sasl: user === '' ? undefined : { mechanism, username: user, password },
  };
}

function tlsOf(settings: SettingValues, hasUser: boolean): KafkaPlace['tls'] {
  const choice = tlsChoices.find((each) => each === textSetting(settings, 'tls', 'auto'));
  if (choice === undefined) throw wrongSetting('tls', `expected ${tlsChoices.join(', ')}`);
  const given = { ca: textSetting(settings, 'ca'), cert: textSetting(settings, 'client_certificate') };
  const key = textSetting(settings, 'client_key');
  if ((given.cert === '') !== (key === '')) {
    throw wrongSetting('client_key', 'expected client_certificate and client_key, got one of them');
  }
  const isOff = choice === 'auto' ? !hasUser && given.ca === '' && key === '' : choice === 'off';
  if (isOff) return undefined;
  return {
    rejectUnauthorized: choice !== 'no verify',
    ...(given.ca !== '' && { ca: given.ca }),
    ...(key !== '' && { cert: given.cert, key }),
  };
}

function brokersOf(settings: SettingValues): readonly KafkaBroker[] {
  const brokers = listSetting(settings, 'brokers').map((text): KafkaBroker => {
    const [, bracketed, plain, port = String(standardPort)] =
      /^(?:\[([\da-f:]+)\]|([^\s:/@]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
    const host = bracketed ?? plain;
    if (host === undefined || Number(port) < 1 || Number(port) > 65_535) {
      // Not repeated: it may hold a password.
      throw wrongSetting('brokers', 'expected host:port with commas between, without user and password');
    }
    return { host, port: Number(port) };
  });
  if (brokers.length === 0) throw wrongSetting('brokers', 'expected at least one host:port');
  return brokers;
}
