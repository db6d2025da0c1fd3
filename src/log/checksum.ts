import { crc32 } from 'node:zlib';

/** Computes the CRC-32 over the header text (UTF-8) followed by the body, which every adapter stores with a record. */
export function recordChecksum(header: string, body: Uint8Array): number {
  return crc32(body, crc32(header));
}
