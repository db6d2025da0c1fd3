import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

const form = 'MILLRACE_OUTBOUND_CA: expected the path of a file with certificates in PEM form';

/**
 * Reads the certificates of that file; `undefined` for an empty path.
 * @throws Error with a sentence that names the file
 */
export function readExtraCa(path: string): string | undefined {
  if (path === '') return undefined;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`${form}, got: ${path} (${(cause as Error).message})`, { cause });
  }
  for (const certificate of pemCertificates(text)) {
    try {
      void new X509Certificate(certificate);
    } catch (cause) {
      throw new Error(`${form}, got an unreadable one in ${path}`, { cause });
    }
  }
  if (pemCertificates(text).length === 0) throw new Error(`${form}, found none in ${path}`);
  return text;
}

/** Trusts these in addition to Node's certificates, which they would replace if given alone. */
export function trusting(ca: string): SecureContext {
  return createSecureContext({ ca: [...getCACertificates('default'), ...pemCertificates(ca)] });
}

function pemCertificates(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}
