import { Type, type Static } from 'typebox';
import { roles } from './roles.ts';

/** An organisation in the form of PostHog's API, reduced to the fields that apply. */
export const organizationSchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
  role: Type.Enum([...roles], { description: 'Role of the caller.' }),
  membership_level: Type.Integer({ description: '8 for admins, 1 for others.' }),
  projects: Type.Array(
    Type.Object({
      id: Type.Integer(),
      uuid: Type.String({ format: 'uuid' }),
      organization: Type.String({ format: 'uuid' }),
      name: Type.String(),
      timezone: Type.String(),
    }),
    { description: 'Projects that the key can access.' },
  ),
});
export type OrganizationRecord = Static<typeof organizationSchema>;
