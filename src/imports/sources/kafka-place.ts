import {
  kafkaAccess,
  parseBroker,
  passwordLogin,
  saslMechanisms,
  tlsChoices,
  type KafkaAccess,
  type KafkaBroker,
} from '../../log/kafka-connection/access.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { wrongSetting } from '../../plugins/plugin.ts';
import { listSetting, neededSetting, textSetting } from '../../plugins/setting-values.ts';

export interface KafkaPlace extends KafkaAccess {
  /** At least one; these report the others of the cluster. */
  readonly brokers: readonly KafkaBroker[];
  readonly topic: string;
}

/** Throws SettingsError. */
export function kafkaPlaceOf(settings: SettingValues): KafkaPlace {
  const mechanism = saslMechanisms.find((each) => each === textSetting(settings, 'mechanism', 'PLAIN'));
  if (mechanism === undefined) throw wrongSetting('mechanism', `expected ${saslMechanisms.join(', ')}`);
  const tls = tlsChoices.find((each) => each === textSetting(settings, 'tls', 'auto'));
  if (tls === undefined) throw wrongSetting('tls', `expected ${tlsChoices.join(', ')}`);
  const certificate = textSetting(settings, 'client_certificate');
  const key = textSetting(settings, 'client_key');
  if ((certificate === '') !== (key === '')) {
    throw wrongSetting('client_key', 'expected client_certificate and client_key, got one of them');
  }
  const ca = textSetting(settings, 'ca');
  const sasl = passwordLogin(textSetting(settings, 'user'), textSetting(settings, 'password'), mechanism);
  return {
    ...kafkaAccess({ tls, ca, certificate, key, sasl }),
    brokers: brokersOf(settings),
    topic: neededSetting(settings, 'topic'),
  };
}

function brokersOf(settings: SettingValues): readonly KafkaBroker[] {
  const brokers = listSetting(settings, 'brokers').map((text): KafkaBroker => {
    const broker = parseBroker(text);
    // Not shown, since it may contain a password.
    if (broker === undefined) {
      throw wrongSetting('brokers', 'expected host:port with commas between, without user and password');
    }
    return broker;
  });
  if (brokers.length === 0) throw wrongSetting('brokers', 'expected at least one host:port');
  return brokers;
}
