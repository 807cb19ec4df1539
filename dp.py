import numpy as np
N=4096
S=np.zeros(N+1); arg=np.zeros(N+1,int)
for n in range(2,N+1):
    m=np.arange(1,n)
    c=(np.cbrt(S[m])+np.cbrt(2.0*(n-m)))**3+S[n-m]
    i=c.argmin(); S[n]=c[i]; arg[n]=m[i]
for n in (8,64,512,4096):
    print(n, arg[n], 'rms interior', np.sqrt(S[n]/n), 'with total', np.sqrt((np.cbrt(S[n])+np.cbrt(2.0))**3/n))
# dyadic halves only
S2=np.zeros(13)
for L in range(1,13):
    n=2**L; S2[L]=(np.cbrt(S2[L-1])+np.cbrt(n))**3+S2[L-1]
    print(L,np.sqrt(S2[L]/n))
