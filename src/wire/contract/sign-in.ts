import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';

/** Path that starts a sign-in with the OpenID Connect provider. */
export const signInPath = '/login/oidc';

/** What the sign-in page offers, in addition to links and keys. */
export const signInMethodsSchema = Type.Object({
  oidc: orNull(
    Type.Object({
      name: Type.String({ description: 'Name of the provider, for the button.' }),
      path: Type.String({ description: 'Path that starts the sign-in; `return_to` is a path of the console.' }),
    }),
    'The OpenID Connect provider. Null if none is set up.',
  ),
});
export type SignInMethods = Static<typeof signInMethodsSchema>;
