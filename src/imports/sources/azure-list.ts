import { SourceWaitError } from '../source.ts';

export interface ListedBlob {
  readonly name: string;
  readonly bytes: number;
  readonly etag: string;
}

/** Where the next page begins; empty: this was the last one. */
export interface BlobPage {
  readonly blobs: readonly ListedBlob[];
  readonly next: string;
}

/**
 * A page of a listing. Its XML has no attributes and no comments where this looks, and texts of it are escaped.
 * @throws SourceWaitError for what is no whole page
 */
export function readBlobPage(xml: string): BlobPage {
  if (!xml.trimEnd().endsWith('</EnumerationResults>')) throw notAPage();
  const blobs = [...xml.matchAll(/<Blob>(.*?)<\/Blob>/gs)].map(([, blob = '']) => {
    const [name, size, etag] = [textOf(blob, 'Name'), textOf(blob, 'Content-Length'), textOf(blob, 'Etag')];
    if (name === undefined || size === undefined || etag === undefined) throw notAPage();
    return { name, bytes: Number(size), etag: etag.startsWith('"') ? etag : `"${etag}"` };
  });
  return { blobs, next: textOf(xml.slice(xml.lastIndexOf('</Blobs>')), 'NextMarker') ?? '' };
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function textOf(xml: string, tag: string): string | undefined {
  const [, encoded, text] = new RegExp(`<${tag}( Encoded="true")?>([^<]*)</${tag}>`).exec(xml) ?? [];
  const plain = text?.replaceAll(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (all, hex, decimal, name) => {
    if (hex !== undefined) return String.fromCodePoint(parseInt(String(hex), 16));
    return decimal === undefined ? (entities[String(name)] ?? String(all)) : String.fromCodePoint(Number(decimal));
  });
  // Names that XML cannot hold come as in an address.
  return encoded === undefined || plain === undefined ? plain : decodeURIComponent(plain);
}

function notAPage(): SourceWaitError {
  return new SourceWaitError('Azure Blob Storage: expected a page of a listing, got something else', {
    unlimited: false,
  });
}
