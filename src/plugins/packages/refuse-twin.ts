import { ApiError } from '../../wire/contract/errors.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { keptIdentity } from '../plugin-address.ts';

/**
 * Throws ApiError conflict when the organisation has installed the same plugin already: from the same package, repository
 * or address, or of the same name. `except`: the plugin itself.
 */
export async function refuseTwin(
  tx: Queries,
  organizationId: string,
  { name, identity }: { readonly name: string; readonly identity: string | null },
  except?: number,
): Promise<void> {
  const installed = await tx
    .selectFrom('plugins as p')
    .leftJoin('plugin_versions as v', 'v.id', 'p.latest_version_id')
    .select(['p.id', 'p.name', 'p.version', 'v.source_url'])
    .where('p.organization_id', '=', organizationId)
    .execute();
  const twin = installed.find(
    (each) =>
      each.id !== except &&
      (sameName(each.name, name) || (identity !== null && keptIdentity(each.source_url) === identity)),
  );
  if (twin === undefined) return;
  const detail =
    `"${twin.name}" ${twin.version} is installed already, as plugin ${twin.id}. ` +
    `To get another version of it, update it: "millrace plugins upgrade ${twin.id} <path>", or PATCH …/plugins/${twin.id}/.`;
  throw new ApiError('conflict', detail);
}

function sameName(a: string, b: string): boolean {
  return a.trim().toLowerCase() === b.trim().toLowerCase();
}
