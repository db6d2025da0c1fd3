import { Type } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import { publicKeyOf, publicKeyPem, signJson } from '../../base/signatures.ts';
import {
  certificateFormat,
  certificateKeySchema,
  signedCertificateSchema,
  type ErasureCertificate,
} from '../../wire/contract/erasure-certificates.ts';
import type { ErasureResult, ErasureSpec } from '../../wire/contract/erasures.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import { erasureKind } from '../../queue/erasures/erasure.ts';
import { findTask } from '../../queue/tasks/task-store.ts';
import type { Task } from '../../queue/tasks/task.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { signingKeyOf } from '../../stores/metadata/signing-keys.ts';
import { apiRoute, type ApiRoute, type ProjectRef } from '../http/api-route.ts';

interface CertificateDeps {
  readonly db: Metadata;
  readonly clock: Clock;
}

const path = '/api/projects/:project_id/erasures';
const common = { method: 'GET', scope: 'erasure:read', tag: 'Erasures' } as const;

/** Routes of signed certificates of erasures, and of the key that signs them. */
export function erasureCertificateRoutes({ db, clock }: CertificateDeps): ApiRoute[] {
  return [
    apiRoute({
      ...common,
      path: `${path}/public_key`,
      summary: 'Retrieve the key that verifies certificates of erasures',
      responses: { 200: certificateKeySchema },
      handler: async (request) => {
        const public_key = publicKeyOf(await signingKeyOf(db, request.project().id, clock.now()));
        return { status: 200, body: { algorithm: 'Ed25519', public_key, pem: publicKeyPem(public_key) } };
      },
    }),
    apiRoute({
      ...common,
      path: `${path}/:id/certificate`,
      summary: 'Retrieve the certificate of an erasure',
      description: 'States what was erased and when, without ids of persons, signed with the key of the project.',
      params: Type.Object({ id: Type.String({ description: 'Id of the erasure.' }) }),
      responses: { 200: signedCertificateSchema },
      handler: async (request) => {
        const project = request.project();
        const task = orNotFound(await findTask(db, { projectId: project.id, kind: erasureKind }, request.params.id));
        const certificate = toCertificate(task, project);
        const key = await signingKeyOf(db, project.id, clock.now());
        const signature = { algorithm: 'Ed25519', public_key: publicKeyOf(key), value: signJson(certificate, key) };
        return { status: 200, body: { certificate, signature } };
      },
    }),
  ];
}

/** @throws ApiError unless the erasure is done */
function toCertificate(
  { id, state, spec, result, ...times }: Task,
  { id: number, uuid, name }: ProjectRef,
): ErasureCertificate {
  if (state !== 'done' || times.startedAt === null || times.endedAt === null) {
    throw new ApiError('conflict', `Expected an erasure that is done, got: one that is ${state}.`);
  }
  return {
    format: certificateFormat,
    erasure: id,
    project: { id: number, uuid, name },
    requested_at: times.createdAt,
    started_at: times.startedAt,
    completed_at: times.endedAt,
    // Stored by the kind.
    request: spec as ErasureSpec,
    result: result as ErasureResult,
  };
}
