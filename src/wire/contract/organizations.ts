import { Type, type Static } from 'typebox';
import { roles } from './roles.ts';

/** An organisation as PostHog's API shows it, as far as there is something to show. */
export const organizationSchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
  role: Type.Enum([...roles], { description: 'What the caller may do in it.' }),
  membership_level: Type.Integer({ description: '8 for admins, 1 for everybody else.' }),
  projects: Type.Array(
    Type.Object({
      id: Type.Integer(),
      uuid: Type.String({ format: 'uuid' }),
      organization: Type.String({ format: 'uuid' }),
      name: Type.String(),
      timezone: Type.String(),
    }),
    { description: 'Those that the key may see.' },
  ),
});
export type OrganizationRecord = Static<typeof organizationSchema>;
