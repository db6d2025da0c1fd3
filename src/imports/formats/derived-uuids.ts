import { hash } from 'node:crypto';
import { millraceNamespace } from '../../base/ids.ts';

/**
 * Returns the same UUIDv5 as `derivedId` of src/base/ids.ts, several times faster: a conversion needs one or two per record, for
 * millions of records.
 */
export type MakeUuid = (name: string) => string;

const shortNameBytes = 4096;

/** Creates a function for one namespace: any 16 bytes, which need not be a UUID. */
export function createUuids(namespace: Uint8Array): MakeUuid {
  const buffer = Buffer.alloc(namespace.length + shortNameBytes);
  buffer.set(namespace);
  return (name) => {
    // A UTF-16 unit takes at most three bytes in UTF-8.
    const bytes =
      name.length * 3 <= shortNameBytes
        ? buffer.subarray(0, namespace.length + buffer.write(name, namespace.length))
        : Buffer.concat([namespace, Buffer.from(name)]);
    return uuidText(hash('sha1', bytes, 'hex'));
  };
}

const ownNamespace = Buffer.from(millraceNamespace.replaceAll('-', ''), 'hex');
const own = createUuids(ownNamespace);

/** Separates the parts of an id. */
export const partsSeparator = '\u001f';

/** Returns the namespace in which the UUID of a text equals `derivedId` of these parts and the text. */
export function namespaceOf(...parts: readonly string[]): Uint8Array {
  return Buffer.concat([ownNamespace, Buffer.from(parts.map((part) => part + partsSeparator).join(''))]);
}

/** Returns the same as `derivedId`. */
export function fastId(...parts: readonly string[]): string {
  return own(parts.join(partsSeparator));
}

/** Version 5, variant of RFC 9562. */
function uuidText(hex: string): string {
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) & 3] ?? '8';
  return (
    `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-` +
    `${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  );
}
