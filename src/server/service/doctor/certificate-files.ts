import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dayMs } from '../../../base/time.ts';
import { settingDefinitions, type Settings } from '../../config/settings.ts';
import type { Fault, Outcome } from './check.ts';

const daysWanted = 14;
/** Settings that name a file with certificates. */
const certificateSettings = ['kafkaTlsCa', 'kafkaTlsCertificate', 'outboundCa'] as const;
const block = /-----BEGIN CERTIFICATE-----[^]+?-----END CERTIFICATE-----/g;

interface CertificateFile {
  /** `MILLRACE_KAFKA_TLS_CA (/etc/ca.pem)`. */
  readonly name: string;
  readonly certificates: readonly X509Certificate[];
  /** Why the file has no certificate. */
  readonly fault: string | undefined;
}

export function certificateFaults(settings: Settings): Outcome {
  const files = certificateFiles(settings);
  if (files.length === 0) return 'none set';
  return files.flatMap(({ name, fault }) => (fault === undefined ? [] : [`${name}: ${fault}`]));
}

/** @param now ms since the epoch */
export function certificateExpiry(settings: Settings, now: number): Outcome {
  return certificateFiles(settings).flatMap(({ name, certificates }) =>
    certificates.flatMap(({ subject, validTo, validFrom }): Fault[] => {
      const who = `${name}: the certificate of ${subject.replaceAll('\n', ', ')}`;
      const days = Math.floor((Date.parse(validTo) - now) / dayMs);
      if (Date.parse(validFrom) > now)
        return [{ detail: `${who} is not valid before ${validFrom}`, severity: 'failed' }];
      if (days < 0) return [{ detail: `${who} expired on ${validTo}`, severity: 'failed' }];
      return days < daysWanted ? [`${who} expires on ${validTo}`] : [];
    }),
  );
}

export function keyFaults({ kafkaTlsCertificate, kafkaTlsKey }: Settings): Outcome {
  if (kafkaTlsCertificate === '' || kafkaTlsKey === '') return 'not set';
  const certificate = new X509Certificate(readFileSync(kafkaTlsCertificate));
  // An encrypted key cannot be used, as there is no setting for its passphrase.
  const key = createPrivateKey(readFileSync(kafkaTlsKey));
  return certificate.checkPrivateKey(key) ? [] : ['the key does not belong to the certificate'];
}

function certificateFiles(settings: Settings): CertificateFile[] {
  return certificateSettings
    .filter((name) => settings[name] !== '')
    .map((setting) => readCertificates(`${settingDefinitions[setting].env} (${settings[setting]})`, settings[setting]));
}

function readCertificates(name: string, path: string): CertificateFile {
  try {
    const blocks = readFileSync(path, 'utf8').match(block) ?? [];
    if (blocks.length === 0) return { name, certificates: [], fault: 'expected a certificate in PEM, got none' };
    return { name, certificates: blocks.map((text) => new X509Certificate(text)), fault: undefined };
  } catch (error) {
    return { name, certificates: [], fault: error instanceof Error ? error.message : String(error) };
  }
}
