import { Type, type Static } from 'typebox';
import { erasureResultSchema, erasureSpecSchema } from './erasures.ts';

/** What a project declares, signed, about an erasure that is done. */

export const certificateFormat = 'millrace-erasure-certificate/1';

const certificate = Type.Object({
  format: Type.Literal(certificateFormat),
  erasure: Type.String({ format: 'uuid', description: 'Id of the erasure.' }),
  project: Type.Object({ id: Type.Integer(), uuid: Type.String(), name: Type.String() }),
  requested_at: Type.String({ format: 'date-time' }),
  started_at: Type.String({ format: 'date-time' }),
  completed_at: Type.String({ format: 'date-time' }),
  request: erasureSpecSchema,
  result: erasureResultSchema,
});
export type ErasureCertificate = Static<typeof certificate>;

export const signedCertificateSchema = Type.Object({
  certificate,
  signature: Type.Object({
    algorithm: Type.Literal('Ed25519'),
    public_key: Type.String({
      description: 'Key of the project as base64 of its SPKI form, as `public_key` returns it.',
    }),
    value: Type.String({
      description:
        'Base64 of the signature over `certificate` as JSON in UTF-8, with the members of each object in the order of their code ' +
        'units and without whitespace.',
    }),
  }),
});
export type SignedCertificate = Static<typeof signedCertificateSchema>;

export const certificateKeySchema = Type.Object({
  algorithm: Type.Literal('Ed25519'),
  public_key: Type.String({ description: 'Base64 of its SPKI form.' }),
  pem: Type.String({ description: 'The same key for OpenSSL.' }),
});
