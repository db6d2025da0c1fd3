/** Signature Version 4 of AWS, for requests with a whole body. */
interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface AwsRequest {
  readonly method: string;
  readonly host: string;
  /** Already percent-encoded. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

interface Digest {
  update(data: unknown): Digest;
  digest(): Uint8Array;
  digest(encoding: 'hex'): string;
}

export interface DigestMaker {
  createHash(name: string): Digest;
  createHmac(name: string, key: unknown): Digest;
}

/** Encodes as in RFC 3986: everything but letters, digits and `-._~`. */
export function encodePart(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export function queryText(query: Readonly<Record<string, string>>): string {
  return Object.keys(query)
    .sort()
    .map((name) => `${encodePart(name)}=${encodePart(query[name] ?? '')}`)
    .join('&');
}

/** Returns the headers to send: the given ones and the signature. `host` is signed but set by the sender. */
export function signedHeaders(
  crypto: DigestMaker,
  request: AwsRequest,
  credentials: AwsCredentials,
  scope: { readonly region: string; readonly service: string; readonly now: number },
): Record<string, string> {
  const time = new Date(scope.now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const bodyHash = crypto.createHash('sha256').update(request.body).digest('hex');
  const headers: Record<string, string> = {
    ...lowerCase(request.headers),
    'x-amz-date': time,
    'x-amz-content-sha256': bodyHash,
    ...(credentials.sessionToken && { 'x-amz-security-token': credentials.sessionToken }),
  };
  const all: Record<string, string> = { ...headers, host: request.host };
  const names = Object.keys(all).sort();
  const canonical = [
    request.method,
    request.path,
    queryText(request.query),
    ...names.map((name) => `${name}:${(all[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    bodyHash,
  ].join('\n');
  const day = time.slice(0, 8);
  const within = `${day}/${scope.region}/${scope.service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, within, crypto.createHash('sha256').update(canonical).digest('hex')].join(
    '\n',
  );
  const key = [day, scope.region, scope.service, 'aws4_request'].reduce<unknown>(
    (secret, part) => crypto.createHmac('sha256', secret).update(part).digest(),
    `AWS4${credentials.secretAccessKey}`,
  );
  const signature = crypto.createHmac('sha256', key).update(toSign).digest('hex');
  const who = `Credential=${credentials.accessKeyId}/${within}`;
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 ${who}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
