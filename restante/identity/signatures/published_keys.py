"""Keys whose private halves anybody can read: their thumbprints (RFC 7638), by where they are printed."""

from __future__ import annotations

PUBLISHED = frozenset(
    {
        # the profile's vectors
        "n6t8M5xap5zN-Yb98dO-CwWjXMR1XNOmzSNJJAdd5ic",
        "5amHoZG-tFXVzLKXnNbUL7NF3tc_Cs_Fyj0KgjpphEc",
        "Iyuh6gLv3TeYOAj6jYUc00tMIYZC3eqighbuykzB5_E",
        "Z_yyUarOz8G3glrfIXq3y2eTjR0IyFcpXm3Vlrq88vI",
        "Q88uviLrcZgwt_r1Lg61VhTYH4Hdk8eOE6nNyl6eVhw",
        # RFC 9421, appendix B.1
        "BHj8s0GPnMEQtkaULIM-PLgEhLBbuGUQ1vMxmBWZzEo",
        "oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA",
        "ydQXMtvbsOsZyFir-Y7A8t7fKEM1gbKPvyFkdpu4fvI",
        "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
        # RFC 8032, section 7.1
        "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
        "FtIu-VbGrfe_KB6CH7GNwODB72MNxj_ml11dEvO-7kk",
        "FVV5umTuau890q59V-4Ga_R6qWb7ON_ivJc4EjvCwTM",
        "lZI1vM7tnlYapaF5-cy86ptx0tT_8Av721hhiNB5ti4",
        "iiDHHfFVNG6ICMUTsicgrWf1igtFYZEK73xlobt1ah4",
        # RFC 7515, appendix A.3
        "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U",
        # RFC 7517, appendix A.1
        "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s",
        "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
        # jwt.io
        "19J8y7Zprt2-QKLjF2I5pVk0OELX6cY2AfaAv1LC_w8",
        "oGDmHqCJ7yzMkWEkrlZVHkvrHIyQwtlDmeq5ForUHeY",
        # RFC 7515, appendix A.2
        "IsUn6_e04MaShXFIISMp4kG62LWzMIPy_MvSA5pJgX8",
    }
)
