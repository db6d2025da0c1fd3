/** Signature Version 4 of AWS, for requests with a whole body. */
export interface AwsCredentials {
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

interface Scope {
  readonly region: string;
  readonly service: string;
  /** ms since the epoch. */
  readonly now: number;
}

/** Returns the headers to send: the given ones and the signature. `host` is signed but set by the sender. */
export function signedHeaders(
  crypto: DigestMaker,
  request: AwsRequest,
  credentials: AwsCredentials,
  scope: Scope,
): Record<string, string> {
  const bodyHash = crypto.createHash('sha256').update(request.body).digest('hex');
  const headers: Record<string, string> = {
    ...lowerCase(request.headers),
    'x-amz-date': timeText(scope),
    'x-amz-content-sha256': bodyHash,
    ...(credentials.sessionToken && { 'x-amz-security-token': credentials.sessionToken }),
  };
  const signed = { ...request, headers: { ...headers, host: request.host }, bodyHash };
  const signature = signatureOf(crypto, signed, credentials, scope);
  const who = `Credential=${credentialOf(credentials, scope)}`;
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 ${who}, SignedHeaders=${namesOf(signed.headers)}, Signature=${signature}`,
  };
}

/** Returns the query of a presigned request without a body, which has the signature instead of headers. */
export function presignedQuery(
  crypto: DigestMaker,
  request: Pick<AwsRequest, 'method' | 'host' | 'path' | 'query'>,
  credentials: AwsCredentials,
  scope: Scope & { readonly expiresSeconds: number },
): Record<string, string> {
  const headers = { host: request.host };
  const query = {
    ...request.query,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': credentialOf(credentials, scope),
    'X-Amz-Date': timeText(scope),
    'X-Amz-Expires': String(scope.expiresSeconds),
    'X-Amz-SignedHeaders': namesOf(headers),
    ...(credentials.sessionToken && { 'X-Amz-Security-Token': credentials.sessionToken }),
  };
  const bodyHash = crypto.createHash('sha256').update('').digest('hex');
  const signature = signatureOf(crypto, { ...request, query, headers, bodyHash }, credentials, scope);
  return { ...query, 'X-Amz-Signature': signature };
}

function signatureOf(
  crypto: DigestMaker,
  { method, path, query, headers, bodyHash }: Omit<AwsRequest, 'body' | 'host'> & { readonly bodyHash: string },
  credentials: AwsCredentials,
  scope: Scope,
): string {
  const canonical = [
    method,
    path,
    queryText(query),
    ...Object.keys(headers)
      .sort()
      .map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    namesOf(headers),
    bodyHash,
  ].join('\n');
  const hash = crypto.createHash('sha256').update(canonical).digest('hex');
  const toSign = ['AWS4-HMAC-SHA256', timeText(scope), scopeText(scope), hash].join('\n');
  const key = scopeText(scope)
    .split('/')
    .reduce<unknown>(
      (secret, part) => crypto.createHmac('sha256', secret).update(part).digest(),
      `AWS4${credentials.secretAccessKey}`,
    );
  return crypto.createHmac('sha256', key).update(toSign).digest('hex');
}

function timeText({ now }: Scope): string {
  return new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '');
}

function scopeText(scope: Scope): string {
  return `${timeText(scope).slice(0, 8)}/${scope.region}/${scope.service}/aws4_request`;
}

function credentialOf({ accessKeyId }: AwsCredentials, scope: Scope): string {
  return `${accessKeyId}/${scopeText(scope)}`;
}

function namesOf(headers: Readonly<Record<string, string>>): string {
  return Object.keys(headers).sort().join(';');
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
