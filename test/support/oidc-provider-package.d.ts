/** The part of the package that tests use; it has no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  interface Context {
    readonly oidc: {
      readonly provider: { readonly Grant: new (of: GrantOf) => Grant };
      readonly session: { readonly accountId?: string } | undefined;
      readonly client: { readonly clientId: string } | undefined;
    };
  }

  interface GrantOf {
    readonly accountId: string | undefined;
    readonly clientId: string | undefined;
  }

  interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
  }
}
